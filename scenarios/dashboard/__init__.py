"""Dashboard: sliders on a scenario, its rounds in pictures, a lesson in four steps; in the browser."""
