package ollama

import "testing"

func TestBase(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"http://10.0.0.1":      "http://10.0.0.1",
		"localhost":            "http://localhost:11434/",
		"10.0.0.1:80/ollama":   "http://10.0.0.1:80/ollama",
		"0.0.0.0":              "http://127.0.0.1:11434/",
		"0.0.0.0:8080":         "http://127.0.0.1:8080/",
		":8080":                "http://127.0.0.1:8080/",
		"[::1]":                "http://[::1]:11434/",
		"[::1]:8080":           "http://[::1]:8080/",
		"https://example.com/": "https://example.com/",
	} {
		if got := baseOf(in); got != want {
			t.Errorf("baseOf(%q) = %q, want %q", in, got, want)
		}
	}
}
