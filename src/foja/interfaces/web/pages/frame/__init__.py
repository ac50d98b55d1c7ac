"""What all pages share: templates, languages, navigation, forms, static files, errors as pages."""
