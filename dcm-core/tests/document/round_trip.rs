//! What is written is read as the same; and no text is too much for the reader.
