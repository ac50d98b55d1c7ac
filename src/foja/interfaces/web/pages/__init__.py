"""The pages for people, one module per page: templates on the server, small modules in the browser.

Every page can be read without JavaScript, in English and in Spanish. No page has an inline script or
style, and nothing that others wrote becomes markup.
"""
