"""Write the generated parts of the pages: ``python -m scenarios.reference`` in a clone."""

from scenarios.reference.pages import PAGES, write_page

for page in PAGES:
    page.write_text(write_page(page), encoding="utf-8")
    print(page)
