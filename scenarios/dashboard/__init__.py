"""Dashboard in the browser: sliders on a scenario, its rounds in pictures, a lesson."""
