package openapi

import (
	"strings"
	"testing"
)

func TestToolNames(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"", "getPetByID", "get_pet_by_id"}, {"", "pets.list-all", "pets_list_all"}, {"", "HTTPServerURL2", "http_server_url2"},
		{"", "", "get_a"}, {"", "日本", "get_a"}, {"", "3d", "call_3d"}, {"shop", "getPet", "shop_get_pet"}, {"shop", "shop_get", "shop_get"},
		{"", "run_test", "run_test_call"}, {"", strings.Repeat("long", 40), strings.Repeat("long", 16)}, {"", "a/../../b\nc", "a_b_c"},
	} {
		if got := toolName(c[0], &Operation{Method: "GET", Path: "/a", ID: c[1]}); got != c[2] {
			t.Errorf("the tool of %q with the prefix %q is %s, want %s", c[1], c[0], got, c[2])
		}
	}
}
