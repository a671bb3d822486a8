"""The platform's API: the route table, and the pipeline that every request takes."""
