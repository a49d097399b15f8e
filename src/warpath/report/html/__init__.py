"""The report as one HTML file that needs no network: templates filled with what the report holds."""
