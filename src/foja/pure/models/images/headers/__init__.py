"""What an image file says about itself, read from its bytes before anything decodes them."""
