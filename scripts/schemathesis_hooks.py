"""What scripts/check-api does to requests before they are sent."""

import schemathesis


@schemathesis.hook
def map_headers(context, headers):
    """One condition, not both: no schema can say so, and a request with both is refused before anything else is looked at."""
    if headers and "If-Match" in headers and "If-None-Match" in headers:
        del headers["If-Match" if len(str(headers["If-Match"])) % 2 else "If-None-Match"]
    return headers
