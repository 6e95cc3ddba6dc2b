"""Pages as Solara shows them, which needs the extra app; no number is made here."""
