"""From a report to text or bytes. Only this folder knows rich."""
