package config

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Server says who may use a server of the user's runs, besides the user.
type Server struct {
	Users     []ServerUser // sorted by their names
	ForbidOwn bool         // nobody answers the questions of runs that they began
	Hosts     []string     // the names by which clients address the server, besides localhost
}

// A ServerUser is somebody with a token.
type ServerUser struct {
	Name string
	Role string // one of ServerRoles
	Hash string // the SHA-256 of the token, in hexadecimal
}

// ServerRoles returns the names of the roles, each with the rights of those before it.
func ServerRoles() []string { return []string{"view", "run", "approve", "admin"} }

// TokenPrefix begins a token in the config, before its hash.
const TokenPrefix = "sha256:"

func (r *reader) server(v value.Value) error {
	fields, err := object("server", "an object, as in {users: {ann: {role: approve, token: …}}},", v, "users", "forbid_own", "hosts")
	if err != nil {
		return err
	}
	if v, given := fields.Get("forbid_own"); given {
		if r.to.Server.ForbidOwn, err = boolean("server.forbid_own", v); err != nil {
			return err
		}
	}
	if v, given := fields.Get("hosts"); given {
		list, ok := value.Elements(v)
		for _, host := range list {
			name, isText := host.(string)
			ok = ok && isText && name != ""
			r.to.Server.Hosts = append(r.to.Server.Hosts, name)
		}
		if !ok {
			return wrongType("server.hosts", "a list of names of hosts", v)
		}
	}
	users, given := fields.Get("users")
	if !given {
		return nil
	}
	byName, ok := users.(*value.Dict)
	if !ok {
		return wrongType("server.users", "an object of users by their names", users)
	}
	for k, v := range byName.All() {
		u, err := serverUser(k.(string), v)
		if err != nil {
			return err
		}
		r.to.Server.Users = append(r.to.Server.Users, u)
	}
	slices.SortFunc(r.to.Server.Users, func(a, b ServerUser) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// serverUser reads a user of a server.
func serverUser(name string, v value.Value) (u ServerUser, err error) {
	field := "server.users." + name
	fields, err := object(field, "an object, as in {role: approve, token: sha256:…},", v, "role", "token")
	if err != nil {
		return u, err
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return u, value.Errorf(value.Invalid, "'server.users' has the invalid name %q", value.Clean(name, 80)).WithHint("use at most 64 visible characters")
	}
	u.Name = name
	role, _ := fields.Get("role")
	if err := oneOf(field+".role", role, ServerRoles(), &u.Role); err != nil {
		return u, err
	}
	var isHash bool
	u.Hash, isHash = strings.CutPrefix(fields.Text("token"), TokenPrefix)
	if sum, err := hex.DecodeString(u.Hash); !isHash || err != nil || len(sum) != 32 || strings.ToLower(u.Hash) != u.Hash {
		return u, value.Errorf(value.Invalid, "'%s.token' should be %s and a hash in hexadecimal", field, TokenPrefix).WithHint("make a token: cassidy serve user add %s --role %s", name, u.Role)
	}
	return u, nil
}
