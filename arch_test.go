package cassidy_test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/sourcetest"
)

const module = "github.com/cassidy-run/cassidy"

// layers is the house: each package, how its documentation begins, and which
// of our packages it may import. A package that is not here must not be.
var layers = map[string]struct {
	doc  string
	uses string
	why  string
}{
	"runtime/tool/trace": {
		"Package trace defines what is reported about the lines of a script while a call runs.",
		"",
		"calls and outcomes carry these values",
	},
	"runtime/tool": {
		"Package tool defines the words of cassidy",
		"runtime/value runtime/tool/trace runtime/tool/internal/form runtime/tool/internal/target internal/forms internal/gostruct internal/jsonschema internal/yaml",
		"everybody speaks these words, so they know nobody",
	},
	"runtime/tool/internal/form": {
		"Package form converts structs to dicts and back",
		"runtime/value",
		"it reads tags and fields, of any struct",
	},
	"runtime/tool/internal/target": {
		"Package target matches the targets of capabilities",
		"runtime/value",
		"it compares texts",
	},
	"internal/hint": {
		"Package hint selects what of a hint or an error is for whom",
		"",
		"it knows texts only",
	},
	"runtime/value": {
		"Package value defines the values that scripts, hosts, processes and records exchange",
		"internal/gostruct",
		"every package uses values, so they depend on none",
	},
	"internal/gostruct": {
		"Package gostruct lists the fields of Go structs by the rules of encoding/json",
		"",
		"shared by values and the schemas of tools",
	},
	"internal/goschema": {
		"Package goschema derives the parameters and the result of a tool from Go types",
		"runtime/tool runtime/value internal/gostruct",
		"Go tools declare parameters once, by their types",
	},
	"internal/forms": {
		"Package forms reads forms: flat JSON Schemas",
		"runtime/value",
		"an untrusted form is checked in one way, whoever shows it",
	},
	"internal/jsonschema": {
		"Package jsonschema checks values against untrusted JSON Schemas",
		"runtime/value",
		"an untrusted schema can be hostile",
	},
	"internal/yaml": {
		"Package yaml reads and writes values as YAML",
		"runtime/value",
		"the only package that reads and writes YAML",
	},
	"internal/valuetest": {
		"Package valuetest generates values for tests.",
		"runtime/value",
		"tests only",
	},
	"runtime/engine": {
		"Package engine runs Starlark and Lua scripts that can access only what they are granted",
		"runtime/engine/internal/cover runtime/tool runtime/value runtime/engine/diagnostic runtime/engine/internal/lint runtime/engine/internal/script runtime/engine/internal/star runtime/engine/internal/lua runtime/engine/internal/markdown runtime/tool/trace",
		"scripts act only through the effector",
	},
	"runtime/engine/diagnostic": {
		"Package diagnostic describes faults that are found in scripts without running them",
		"runtime/value",
		"the engine finds them, and commands and editors show them",
	},
	"runtime/engine/source": {
		"Package source reads scripts for editors",
		"runtime/engine/internal/failure runtime/tool internal/scan runtime/engine/internal/markdown runtime/engine/internal/script",
		"it reads tokens, so that a script does not have to parse",
	},
	"internal/assist": {
		"Package assist answers what an editor asks about a script",
		"runtime/engine/source runtime/tool runtime/value",
		"it reads texts, and knows no protocol",
	},
	"internal/lsp": {
		"Package lsp serves what an editor needs to know about the scripts of a project",
		"internal/assist runtime/engine/diagnostic runtime/engine/source",
		"a protocol: what it answers is computed elsewhere",
	},
	"runtime/engine/internal/cover": {
		"Package cover collects which lines of scripts run",
		"runtime/value",
		"the part that all languages share",
	},
	"runtime/engine/internal/failure": {
		"Package failure makes the errors that scripts report",
		"runtime/tool runtime/value",
		"the part that all languages and their checks share",
	},
	"runtime/engine/internal/script": {
		"Package script is the part of the engine that its languages share",
		"runtime/engine/internal/failure runtime/engine/internal/cover internal/callback runtime/tool runtime/value runtime/engine/diagnostic runtime/tool/trace",
		"the part that all languages share",
	},
	"runtime/engine/internal/lint": {
		"Package lint is the part of the checks of scripts that all languages share",
		"runtime/engine/diagnostic runtime/engine/internal/script runtime/tool runtime/value",
		"it only reads what the languages have parsed",
	},
	"runtime/engine/internal/lint/starlint": {
		"Package starlint finds faults in programs in Starlark",
		"runtime/engine/diagnostic runtime/engine/internal/habits runtime/engine/internal/lint runtime/tool runtime/value",
		"it only reads what the language has parsed",
	},
	"runtime/engine/internal/lint/lualint": {
		"Package lualint finds faults in scripts in Lua",
		"runtime/engine/internal/failure runtime/engine/diagnostic runtime/engine/internal/lint runtime/tool runtime/value",
		"it only reads what the language has parsed",
	},
	"internal/check": {
		"Package check finds faults in the scripts of a project",
		"internal/folder internal/project runtime/agent runtime/engine runtime/engine/diagnostic runtime/hooks runtime/tool runtime/value",
		"commands and editors find the same faults",
	},
	"internal/scan": {
		"Package scan reads the text of Starlark files",
		"runtime/value",
		"the only tokenizer of Starlark",
	},
	"runtime/engine/internal/habits": {
		"Package habits finds Python features in a Starlark program that Starlark does not have, and suggests replacements",
		"runtime/tool runtime/value internal/scan",
		"it only reads programs",
	},
	"runtime/engine/internal/star": {
		"Package star reads and runs scripts in Starlark",
		"runtime/engine/internal/failure runtime/engine/internal/cover runtime/tool runtime/value runtime/engine/diagnostic runtime/engine/internal/script runtime/engine/internal/habits runtime/engine/internal/lint runtime/engine/internal/lint/starlint internal/scan",
		"languages are independent of each other",
	},
	"runtime/engine/internal/lua": {
		"Package lua reads and runs scripts in Lua.",
		"runtime/engine/internal/failure runtime/tool runtime/value runtime/engine/diagnostic runtime/engine/internal/lint runtime/engine/internal/lint/lualint runtime/engine/internal/lua/pattern runtime/engine/internal/script",
		"languages are independent of each other",
	},
	"runtime/engine/internal/lua/pattern": {
		"Package pattern matches patterns of Lua.",
		"",
		"it knows texts only",
	},
	"runtime/engine/internal/markdown": {
		"Package markdown reads tools that are written as Markdown files",
		"runtime/tool runtime/value internal/yaml runtime/engine/diagnostic runtime/engine/internal/lint runtime/engine/internal/script",
		"the languages of code blocks are parameters",
	},
	"internal/folder": {
		"Package folder reads files of untrusted folders",
		"runtime/value",
		"shared by all readers of a project's files",
	},
	"internal/protect": {
		"Package protect finds what the protected names of a project lead to",
		"",
		"what writes files and what reads notes protect the same names",
	},
	"internal/watch": {
		"Package watch calls a function after files of some folders have changed.",
		"runtime/value",
		"it reads no files, and knows nothing of what is in them",
	},
	"internal/lockfile": {
		"Package lockfile describes the files of a project that a person reviews",
		"runtime/tool runtime/value internal/folder internal/trust internal/yaml",
		"it describes a review, and trusts nothing",
	},
	"internal/mcpfile": {
		"Package mcpfile reads and writes the file that names the MCP servers of a project",
		"runtime/tool runtime/value internal/folder internal/trust",
		"an entry is text: reading it starts nothing",
	},
	"internal/visible": {
		"Package visible shows untrusted text so that nothing of it is hidden",
		"runtime/value",
		"whoever shows untrusted text shows it in one way",
	},
	"internal/review": {
		"Package review shows what a person is asked about",
		"runtime/tool runtime/value internal/visible",
		"a terminal, JSON and pages present the same lines",
	},
	"internal/pack": {
		"Package pack is the binary form of Go structs",
		"runtime/value",
		"hosts, workers, the index and the records of trust write structs in one form",
	},
	"internal/config": {
		"Package config reads config.yaml",
		"runtime/tool runtime/value internal/folder internal/mark internal/membudget internal/protect internal/yaml",
		"a config is read before anything is trusted or run",
	},
	"internal/mark": {
		"Package mark recognizes the folder of a project again",
		"internal/folder",
		"trust and permanent rules are bound to one folder in one way",
	},
	"internal/trust": {
		"Package trust records which files of a project its user has reviewed",
		"runtime/tool runtime/value internal/folder internal/mark internal/pack",
		"trust does not depend on how files are read",
	},
	"internal/index": {
		"Package index caches what was read of the tools in a folder, so that only changed files are read again",
		"runtime/tool runtime/value internal/pack",
		"a cache decides nothing",
	},
	"internal/skill": {
		"Package skill reads and writes skills",
		"runtime/tool runtime/value internal/folder internal/trust internal/yaml",
		"skills are text and run nothing",
	},
	"internal/memory": {
		"Package memory keeps the notes that models write about a project",
		"runtime/tool runtime/value internal/folder internal/trust",
		"who approves a note is decided elsewhere",
	},
	"internal/agentfile": {
		"Package agentfile reads agent files",
		"runtime/tool runtime/value internal/folder internal/jsonschema internal/yaml",
		"agent files are text and run nothing",
	},
	"internal/project": {
		"Package project reads a project",
		"runtime/tool runtime/value internal/agentfile internal/config internal/folder internal/index internal/memory internal/protect internal/skill internal/trust",
		"reading a project must not run its files",
	},
	"stdlib/table": {
		"Package table lets scripts work with tables",
		"runtime/tool runtime/value stdlib/internal/csv stdlib/internal/row stdlib/internal/strftime",
		"tables are computed next to the script, and their bytes are requested as the script would",
	},
	"stdlib/internal/row": {
		"Package row holds what the rows of the standard library share",
		"runtime/tool runtime/value",
		"shared by the packages of the standard library",
	},
	"stdlib/internal/urls": {
		"Package urls reads and writes URLs as scripts give them",
		"runtime/value stdlib/internal/row",
		"shared by the packages of the standard library",
	},
	"stdlib/internal/grid": {
		"Package grid turns lists of dicts or lists into rows of cells",
		"runtime/value stdlib/internal/row",
		"shared by the packages of the standard library",
	},
	"stdlib/internal/strftime": {
		"Package strftime writes and reads times in formats with the directives of strftime",
		"runtime/value stdlib/internal/row",
		"shared by the packages of the standard library",
	},
	"stdlib/internal/csv": {
		"Package csv reads the cells of CSV files, without copying them, and quotes cells.",
		"runtime/value",
		"shared by the packages of the standard library",
	},
	"internal/beneath": {
		"Package beneath reads, opens and removes what is below an open folder, and follows no link on the way.",
		"",
		"each name is looked up in an open folder",
	},
	"internal/scratch": {
		"Package scratch makes temporary folders that do not outlast their makers for long.",
		"internal/beneath",
		"whoever makes a temporary folder removes those of killed processes",
	},
	"stdlib/internal/rowtest": {
		"Package rowtest calls the rows of the standard library in tests",
		"runtime/tool runtime/value",
		"tests only; the rows are handed in",
	},
	"stdlib/encoding": {
		"Package encoding is what scripts can do with texts and bytes of known forms",
		"runtime/tool runtime/value internal/yaml stdlib/internal/csv stdlib/internal/grid stdlib/internal/row stdlib/internal/urls",
		"it computes, and acts on nothing",
	},
	"stdlib/text": {
		"Package text is what scripts can do with texts",
		"runtime/tool runtime/value stdlib/internal/grid stdlib/internal/row",
		"it computes, and acts on nothing",
	},
	"stdlib/number": {
		"Package number is what scripts can compute with numbers",
		"runtime/tool runtime/value stdlib/internal/row",
		"it computes, and acts on nothing",
	},
	"stdlib/clock": {
		"Package clock is what scripts can do with time",
		"runtime/tool runtime/value stdlib/internal/row stdlib/internal/strftime",
		"the clock that is read is handed in",
	},
	"stdlib/shell": {
		"Package shell is what scripts can do with other programs",
		"internal/membudget runtime/tool runtime/value internal/beneath internal/protect internal/scratch stdlib/fs stdlib/internal/row",
		"what confines a command is handed in",
	},
	"stdlib/secret": {
		"Package secret is what scripts can do with the secrets and environment variables",
		"runtime/tool runtime/value stdlib/internal/row stdlib/internal/urls",
		"where the values come from is handed in",
	},
	"stdlib/web": {
		"Package web is what scripts can do with servers of the internet",
		"internal/membudget runtime/tool runtime/value stdlib/secret stdlib/internal/row stdlib/internal/urls",
		"which host a call may reach is handed in with the call",
	},
	"stdlib/human": {
		"Package human lets scripts ask the person for whom they run",
		"runtime/tool runtime/value stdlib/internal/row",
		"who answers is handed in with the call",
	},
	"stdlib/fs": {
		"Package fs is what scripts can do with the files of one project",
		"internal/membudget runtime/tool runtime/value stdlib/fs/internal/edits stdlib/fs/internal/globs stdlib/fs/internal/grep stdlib/fs/internal/names stdlib/fs/internal/order stdlib/fs/internal/records stdlib/fs/internal/swap stdlib/internal/row internal/protect",
		"who may touch which file is handed in with the call",
	},
	"stdlib/fs/internal/edits": {
		"Package edits finds a text that is to be replaced, and shows what a replacement changes.",
		"runtime/value",
		"it reads no files",
	},
	"stdlib/fs/internal/globs": {
		"Package globs checks the patterns of file names before they are matched.",
		"runtime/value",
		"it reads no files",
	},
	"stdlib/fs/internal/grep": {
		"Package grep reads and searches lines of text with bounded memory.",
		"runtime/value stdlib/internal/row",
		"it opens no files",
	},
	"stdlib/fs/internal/names": {
		"Package names checks names of files, and compares them by the rules of all common file systems.",
		"runtime/value",
		"it reads no files",
	},
	"stdlib/fs/internal/order": {
		"Package order puts the changes of a commit into an order in which they can be carried out.",
		"runtime/tool runtime/value",
		"it changes nothing",
	},
	"stdlib/fs/internal/records": {
		"Package records writes and reads what the record of a run keeps of a commit",
		"runtime/tool runtime/value",
		"a record may be damaged, so it is checked in one place",
	},
	"stdlib/fs/internal/swap": {
		"Package swap changes the files of a folder so that no change of another process is lost",
		"",
		"it knows nothing of calls and records",
	},
	"stdlib": {
		"Package stdlib is what scripts can use",
		"runtime/tool stdlib/clock stdlib/encoding stdlib/fs stdlib/human stdlib/number stdlib/secret stdlib/shell stdlib/table stdlib/text stdlib/web",
		"an effect acts on the world and knows nothing of who asked",
	},
	"sandbox": {
		"Package sandbox runs a script where it can compute but not act.",
		"internal/membudget internal/callback internal/pack runtime/tool runtime/value runtime/engine sandbox/launch sandbox/internal/seal sandbox/internal/self runtime/tool/trace",
		"the pure functions are handed in, so a worker holds no effect",
	},
	"sandbox/internal/seal": {
		"Package seal confines this process permanently",
		"runtime/value sandbox/internal/seccomp",
		"what is confined does not know what it computes",
	},
	"sandbox/launch": {
		"Package launch runs other programs as confined processes.",
		"runtime/tool runtime/value sandbox/internal/seccomp sandbox/internal/self",
		"which commands may run is decided elsewhere",
	},
	"sandbox/internal/self": {
		"Package self reports whether this program can be started again as another process",
		"",
		"shared by who starts workers and who starts commands",
	},
	"sandbox/internal/seccomp": {
		"Package seccomp assembles filters of system calls",
		"runtime/value",
		"what is forbidden is handed in",
	},
	"sandbox/internal/seccomp/seccomptest": {
		"Package seccomptest runs filters of system calls",
		"",
		"tests only; it runs a filter without installing it",
	},
	"runtime/host": {
		"Package host runs tools for a model and decides what they may do.",
		"internal/membudget runtime/host/toolset runtime/internal/flow internal/agentfile internal/pack runtime/tool runtime/value internal/goschema runtime/host/internal/boxes runtime/host/internal/checks runtime/host/internal/events runtime/host/internal/gate runtime/host/internal/inflight runtime/host/internal/nested runtime/host/internal/parked runtime/host/internal/rights runtime/host/internal/selection runtime/host/internal/undos runtime/host/internal/unsettled runtime/history runtime/history/retry sandbox runtime/tool/trace",
		"who decides what is allowed does none of it",
	},
	"runtime/host/internal/boxes": {
		"Package boxes chooses the sandbox in which a script of a host runs",
		"runtime/tool runtime/value runtime/host/internal/gate runtime/host/internal/rights sandbox",
		"it decides nothing about calls",
	},
	"runtime/host/internal/approval": {
		"Package approval asks for approvals, and keeps permanent ones.",
		"runtime/tool runtime/value runtime/history",
		"whom it asks is given to it",
	},
	"runtime/host/internal/undos": {
		"Package undos finds out what is to be undone of a run, and what earlier undos have undone.",
		"runtime/history runtime/host/internal/gate runtime/tool runtime/value",
		"it undoes nothing",
	},
	"runtime/host/internal/unsettled": {
		"Package unsettled finds out what the commits of a run prove about one that was interrupted",
		"runtime/history runtime/host/internal/diffs runtime/tool runtime/value",
		"it asks nobody, and decides only what the commits of a run prove",
	},
	"runtime/host/internal/diffs": {
		"Package diffs shows what would change in files.",
		"runtime/tool",
		"it reads what it is given",
	},
	"runtime/host/internal/events": {
		"Package events delivers the events of a host",
		"runtime/tool",
		"it knows no calls",
	},
	"runtime/host/internal/selection": {
		"Package selection reads the words that select tools, and lists tools in errors.",
		"runtime/tool runtime/value runtime/host/toolset",
		"it calls nothing",
	},
	"runtime/host/step": {
		"Package step lets handlers of tools in Go act by steps",
		"runtime/value runtime/host/internal/gate",
		"package host is full; a step passes the gate like an effect of a script",
	},
	"runtime/host/toolset": {
		"Package toolset describes the tools of a host",
		"runtime/tool runtime/value",
		"what is known of a tool does nothing with it",
	},
	"runtime/host/internal/checks": {
		"Package checks caches the results of checks",
		"runtime/value",
		"it does not know what is checked",
	},
	"runtime/host/internal/effects": {
		"Package effects has the table of the effects of a host",
		"runtime/tool runtime/value",
		"it carries out no effect",
	},
	"runtime/host/internal/gate": {
		"Package gate is what calls and their effects pass",
		"internal/membudget runtime/tool runtime/value runtime/history runtime/host/internal/approval runtime/host/internal/diffs runtime/host/internal/effects runtime/host/internal/events runtime/host/internal/executing runtime/host/internal/inflight runtime/host/internal/nested runtime/host/internal/once runtime/host/internal/parked runtime/host/internal/request runtime/host/internal/rights runtime/host/internal/unsettled runtime/internal/flow runtime/tool/trace",
		"it knows neither the host nor where tools come from",
	},
	"runtime/host/internal/executing": {
		"Package executing keeps track of the recorded runs that a host executes",
		"runtime/value runtime/host/internal/inflight",
		"it knows neither their records nor their calls",
	},
	"runtime/host/internal/inflight": {
		"Package inflight keeps track of what a host does for its callers",
		"runtime/value",
		"it ends what it does not know",
	},
	"runtime/host/internal/nested": {
		"Package nested describes how scripts call other tools",
		"runtime/tool runtime/value",
		"it calls nothing",
	},
	"runtime/host/internal/once": {
		"Package once makes a call of a recorded run once",
		"runtime/tool runtime/value",
		"it knows no runs",
	},
	"runtime/host/internal/parked": {
		"Package parked describes what a parked run waits for.",
		"runtime/tool runtime/value runtime/history runtime/internal/flow internal/hint",
		"it waits for nothing itself",
	},
	"runtime/host/internal/request": {
		"Package request describes requests for approval",
		"internal/hint runtime/history runtime/host/internal/approval runtime/host/internal/diffs runtime/host/internal/rights runtime/internal/flow runtime/tool runtime/value",
		"it asks nobody and decides nothing",
	},
	"runtime/host/internal/rights": {
		"Package rights decides what a call may do",
		"runtime/tool runtime/value",
		"it asks nobody, and does nothing",
	},
	"runtime/internal/flow": {
		"Package flow knows which untrusted texts a model has read",
		"runtime/tool runtime/value internal/hint",
		"it asks nobody, and refuses nothing",
	},
	"runtime/journal": {
		"Package journal stores the records of runs",
		"runtime/tool runtime/value",
		"a store does not interpret its contents",
	},
	"runtime/journal/sqlite": {
		"Package sqlite is a journal store in a folder",
		"runtime/journal runtime/tool runtime/value internal/scratch",
		"a store depends only on the interface",
	},
	"runtime/journal/journaltest": {
		"Package journaltest is the conformance suite of journal stores.",
		"runtime/journal runtime/tool runtime/value",
		"tests only; it sees a store through the interface",
	},
	"runtime/history": {
		"Package history records what a run did, so that it can be resumed, replayed, audited and undone.",
		"internal/pack runtime/tool runtime/value runtime/journal",
		"records do not depend on approvals or grants",
	},
	"runtime/history/retry": {
		"Package retry decides which steps of a run a retry reuses",
		"runtime/tool runtime/value runtime/history",
		"it changes no record",
	},
	"runtime/history/fixture": {
		"Package fixture reads and writes what a run did as JSON",
		"runtime/tool runtime/value runtime/history",
		"tests replay a run without its store",
	},
	"runtime/model": {
		"Package model provides language models behind one interface.",
		"runtime/tool runtime/value",
		"models only answer; hosts decide what is executed",
	},
	"runtime/model/catalog": {
		"Package catalog has the sizes and prices of well-known models.",
		"runtime/model",
		"figures, with their date",
	},
	"runtime/model/internal/wire": {
		"Package wire sends requests to the APIs of models",
		"runtime/model runtime/tool runtime/value",
		"one place that retries, and that keeps keys out of errors",
	},
	"runtime/model/openai": {
		"Package openai asks models of OpenAI",
		"runtime/tool runtime/model runtime/model/catalog runtime/model/internal/wire runtime/value",
		"one API",
	},
	"runtime/model/anthropic": {
		"Package anthropic asks models of Anthropic.",
		"runtime/tool runtime/model runtime/model/catalog runtime/model/internal/wire runtime/value",
		"one API",
	},
	"runtime/model/gemini": {
		"Package gemini asks models of Google's Gemini API.",
		"runtime/tool runtime/model runtime/model/catalog runtime/model/internal/wire runtime/value",
		"one API",
	},
	"runtime/model/ollama": {
		"Package ollama asks models of an Ollama server.",
		"runtime/tool runtime/model runtime/model/internal/wire runtime/value",
		"one API",
	},
	"runtime/model/cassidyai": {
		"Package cassidyai asks assistants of CassidyAI.",
		"runtime/model runtime/model/internal/wire runtime/value",
		"one API",
	},
	"runtime/model/script": {
		"Package script lets a script play a model",
		"runtime/model runtime/model/internal/wire runtime/value",
		"it runs no script itself",
	},
	"runtime/hooks": {
		"Package hooks runs the functions of a user that watch an agent",
		"runtime/tool runtime/value runtime/host runtime/model",
		"a hook refuses and changes, and does nothing itself",
	},
	"runtime/mcp": {
		"Package mcp serves the tools of a host to clients of the Model Context Protocol",
		"internal/membudget runtime/tool runtime/value runtime/history runtime/host runtime/host/toolset internal/forms internal/hint internal/jsonschema internal/review internal/visible",
		"a door: every call passes the host",
	},
	"runtime/mcp/oauth": {
		"Package oauth signs in at MCP servers over HTTP",
		"runtime/tool runtime/value internal/folder stdlib/web",
		"tokens are stored and sent in one place, which reaches only what a server may name",
	},
	"runtime/mcp/attached": {
		"Package attached calls the tools of other MCP servers",
		"internal/membudget runtime/tool runtime/value runtime/host runtime/host/step runtime/host/toolset internal/forms internal/hint",
		"a server is reached only through it, and is not trusted",
	},
	"runtime/agent": {
		"Package agent lets a language model work on tasks by calling the tools of a host.",
		"internal/membudget runtime/tool runtime/value internal/agentfile runtime/hooks runtime/host runtime/host/toolset runtime/model runtime/agent/decision runtime/agent/internal/account runtime/agent/internal/background runtime/agent/internal/conversation runtime/agent/internal/dialog runtime/agent/internal/functions runtime/agent/internal/ids runtime/agent/internal/meter runtime/agent/internal/names runtime/agent/internal/program runtime/agent/internal/prose runtime/agent/internal/prompt runtime/agent/internal/question runtime/agent/internal/recall runtime/agent/internal/roster runtime/agent/internal/sizes runtime/agent/internal/spent runtime/agent/internal/structured runtime/agent/internal/stub runtime/agent/internal/traces runtime/internal/flow scripts",
		"it acts through the host alone",
	},
	"runtime/agent/codemode": {
		"Package codemode gives a model any number of tools by three",
		"runtime/tool runtime/value runtime/host runtime/host/toolset runtime/agent/internal/functions runtime/agent/internal/program runtime/agent/internal/stub",
		"programs that the client of another protocol writes",
	},
	"internal/toolfile": {
		"Package toolfile reads definitions of tools as other programs write them.",
		"runtime/tool runtime/value",
		"tools with only a definition",
	},
	"runtime/agent/eval": {
		"Package eval measures how well models do tasks with tools",
		"internal/yaml runtime/tool runtime/value runtime/host runtime/model runtime/agent runtime/agent/decision runtime/agent/internal/account runtime/agent/internal/prose runtime/agent/internal/structured",
		"it uses an agent as any program does",
	},
	"runtime/agent/internal/prompt": {
		"Package prompt writes the messages for a language model",
		"internal/hint runtime/tool runtime/value runtime/model runtime/agent/decision runtime/agent/internal/dialog runtime/agent/internal/prose runtime/agent/internal/stub runtime/agent/internal/traces scripts",
		"it writes texts, and asks nobody",
	},
	"runtime/agent/internal/roster": {
		"Package roster selects the tools that a model may call, and finds the agents that it can start",
		"runtime/tool runtime/value internal/agentfile runtime/host runtime/host/toolset runtime/agent/decision",
		"it calls no tools, and starts no agents",
	},
	"runtime/agent/internal/account": {
		"Package account counts the tokens of conversations",
		"runtime/tool runtime/value runtime/model runtime/agent/decision runtime/agent/internal/prompt runtime/agent/internal/prose runtime/agent/internal/stub",
		"it counts, and asks nobody",
	},
	"runtime/agent/internal/dialog": {
		"Package dialog checks conversations",
		"runtime/value runtime/model",
		"what is recorded of a conversation may be damaged",
	},
	"runtime/agent/internal/conversation": {
		"Package conversation has the state of a conversation with a model, and its record",
		"runtime/host runtime/internal/flow runtime/model runtime/tool runtime/value runtime/agent/internal/account runtime/agent/internal/dialog runtime/agent/internal/ids runtime/agent/internal/prompt runtime/agent/internal/recall runtime/agent/internal/traces",
		"it changes by what is recorded, and does nothing",
	},
	"runtime/agent/internal/program": {
		"Package program runs the programs that models write",
		"runtime/host runtime/tool runtime/value runtime/agent/internal/prose runtime/agent/internal/stub",
		"a program has the rights of who calls it",
	},
	"runtime/agent/internal/question": {
		"Package question asks a model a single question",
		"runtime/tool runtime/value runtime/model runtime/agent/decision runtime/agent/internal/meter runtime/agent/internal/structured",
		"it calls no tools",
	},
	"runtime/agent/internal/recall": {
		"Package recall remembers calls of a model",
		"runtime/tool runtime/value",
		"it only remembers",
	},
	"runtime/agent/internal/background": {
		"Package background runs work beside a turn",
		"internal/membudget runtime/value",
		"it runs what it is given",
	},
	"runtime/agent/internal/functions": {
		"Package functions describes the functions with which policies control agents",
		"runtime/tool runtime/value runtime/agent/decision runtime/agent/internal/roster runtime/agent/internal/stub",
		"what they do is in the package of agents",
	},
	"runtime/agent/internal/ids": {
		"Package ids makes the IDs of runs",
		"runtime/tool runtime/value",
		"it only writes names",
	},
	"runtime/agent/internal/sizes": {
		"Package sizes keeps what is known about a model",
		"runtime/model runtime/agent/internal/account",
		"it asks the provider, and no tools",
	},
	"runtime/agent/internal/traces": {
		"Package traces keeps which files the calls of a model have read and written",
		"runtime/tool runtime/value",
		"it only remembers",
	},
	"runtime/agent/internal/structured": {
		"Package structured reads values from the answers of models",
		"internal/jsonschema runtime/tool runtime/value runtime/agent/internal/prose",
		"shared by agents and by scripts that ask a model",
	},
	"runtime/agent/internal/spent": {
		"Package spent describes what turns have used of models",
		"runtime/value runtime/host runtime/agent/internal/meter",
		"the meter does not know where runs are recorded",
	},
	"runtime/agent/internal/meter": {
		"Package meter counts what requests to models use",
		"runtime/tool runtime/value runtime/model runtime/agent/internal/prose",
		"shared by agents, scripts that ask a model, and workflows",
	},
	"runtime/agent/internal/stub": {
		"Package stub presents tools as functions for the programs that a model writes.",
		"runtime/tool runtime/value runtime/agent/decision runtime/agent/internal/names runtime/agent/internal/prose",
		"shared by prompts and by the programs themselves",
	},
	"runtime/agent/decision": {
		"Package decision reads what a language model asks for in its reply",
		"runtime/tool runtime/value runtime/model runtime/agent/internal/fields runtime/agent/internal/loose runtime/agent/internal/markup runtime/agent/internal/offered runtime/agent/internal/phrases runtime/agent/internal/prose",
		"what a reply means is read without doing any of it",
	},
	"runtime/agent/promote": {
		"Package promote makes a tool from a program that a model wrote and that has run.",
		"runtime/tool runtime/value internal/scan runtime/agent/internal/names runtime/agent/internal/prose",
		"it writes a text; whoever asked for it puts it somewhere",
	},
	"runtime/agent/internal/names": {
		"Package names has the rules for names in programs in Starlark.",
		"runtime/agent/internal/prose",
		"shared by the programs of agents and their promotion",
	},
	"runtime/agent/internal/fields": {
		"Package fields reads decisions that are written as fields",
		"runtime/value runtime/agent/internal/loose runtime/agent/internal/prose",
		"it reads fields, and does not know which tools there are",
	},
	"runtime/agent/internal/offered": {
		"Package offered finds the tools that a model may call by the names that it writes",
		"runtime/tool runtime/value runtime/agent/internal/loose runtime/agent/internal/prose",
		"it knows tools, and not what a reply asks for",
	},
	"runtime/agent/internal/phrases": {
		"Package phrases has the words by which a reply is read",
		"runtime/agent/internal/prose",
		"it is one table",
	},
	"runtime/agent/internal/markup": {
		"Package markup reads the tags that models write around calls.",
		"runtime/agent/internal/loose runtime/agent/internal/prose",
		"it reads tags, and does not know what a call is",
	},
	"runtime/agent/internal/loose": {
		"Package loose reads JSON as language models write it",
		"runtime/value runtime/agent/internal/prose",
		"it reads a value, and does not know what a call is",
	},
	"runtime/agent/internal/prose": {
		"Package prose splits text into words, lines and sentences.",
		"runtime/tool runtime/value",
		"shared by prompts, decisions and promotion",
	},
	"tools": {
		"Package tools holds the built-in tools",
		"",
		"data only",
	},
	"scripts": {
		"Package scripts holds the built-in policies, prompts and templates",
		"",
		"data only",
	},
	".": {
		"Package cassidy runs tools for language models",
		"runtime/tool runtime/value runtime/host runtime/host/toolset runtime/history runtime/journal runtime/agent internal/agentfile internal/config internal/index internal/project internal/protect internal/skill internal/trust internal/watch stdlib stdlib/shell sandbox sandbox/launch tools",
		"the one place that chooses the parts",
	},
	"runtime/engine/internal/enginetest": {
		"Package enginetest runs scripts twice, by an engine in this process and in a worker",
		"internal/pack runtime/engine runtime/tool runtime/value sandbox internal/testutil internal/testworker",
		"tests only; scripts run the same in both processes",
	},
	"internal/sourcetest": {
		"Package sourcetest parses the Go files of the repository for tests about the source.",
		"",
		"tests only",
	},
	"cassidytest": {
		"Package cassidytest runs the tests of tools as tests in Go",
		". internal/scripttest runtime/tool",
		"programs test their tools with it",
	},
	"internal/scripttest": {
		"Package scripttest runs the tests of tools and workflows that are written as scripts",
		"runtime/engine internal/callback . internal/folder internal/project internal/scan internal/scratch internal/trust runtime/agent runtime/history/fixture runtime/host runtime/model runtime/model/script runtime/tool runtime/value stdlib/clock stdlib/secret tools",
		"the command and Go tests run the same tests",
	},
	"internal/membudget": {
		"Package membudget bounds the memory that the calls of a host hold",
		"runtime/value",
		"the host bounds what the sandbox and the files take",
	},
	"internal/callback": {
		"Package callback is how an effect calls functions of the script that asks for it",
		"runtime/tool runtime/value",
		"the engine and the host speak it",
	},
	"bench/guard": {
		"Guard runs the benchmarks whose results do not depend on the speed of the machine",
		"",
		"it starts the benchmarks as programs",
	},
	"internal/testutil": {
		"Package testutil lets tests decide how much they do, and builds the programs that they start.",
		"",
		"tests only",
	},
	"internal/testhost": {
		"Package testhost opens hosts for tests",
		". internal/testworker runtime/journal/sqlite",
		"tests only; opens hosts as programs do",
	},
	"internal/testworker": {
		"Package testworker lets tests run scripts in workers",
		"internal/testutil runtime/tool runtime/value sandbox",
		"tests only; the modules of workers are parameters",
	},
	"cmd/cassidy": {
		"Cassidy runs tools for language models, in a sandbox.",
		"cmd/cassidy/internal/agentfiles cmd/cassidy/internal/app cmd/cassidy/internal/chat cmd/cassidy/internal/completion cmd/cassidy/internal/config cmd/cassidy/internal/decision cmd/cassidy/internal/demo cmd/cassidy/internal/doctor cmd/cassidy/internal/eval cmd/cassidy/internal/interrupt cmd/cassidy/internal/keyring cmd/cassidy/internal/lock cmd/cassidy/internal/mcp cmd/cassidy/internal/modellist cmd/cassidy/internal/repl cmd/cassidy/internal/runs cmd/cassidy/internal/secret cmd/cassidy/internal/setup cmd/cassidy/internal/skill cmd/cassidy/internal/task cmd/cassidy/internal/test cmd/cassidy/internal/tool cmd/cassidy/internal/trust cmd/cassidy/internal/wizard cmd/cassidy/internal/workflow runtime/value sandbox stdlib cmd/cassidy/internal/lsp cmd/cassidy/internal/check",
		"words for people; what a program could want too is in a library",
	},
	"cmd/cassidy/internal/ui": {
		"Package ui prints for people and for programs, and reads what people type on a terminal.",
		"runtime/tool runtime/value runtime/host internal/hint internal/visible cmd/cassidy/internal/draw",
		"what every command prints with knows no command",
	},
	"cmd/cassidy/internal/draw": {
		"Package draw lays out what a person sees on a terminal",
		"runtime/value internal/visible",
		"it measures and cuts texts, and reads and writes nothing",
	},
	"cmd/cassidy/internal/agents": {
		"Package agents makes agents from the flags of a command",
		"runtime/tool runtime/value runtime/host runtime/host/toolset runtime/hooks runtime/agent runtime/agent/decision runtime/model internal/agentfile internal/folder internal/project internal/protect internal/skill internal/trust cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/calls cmd/cassidy/internal/interrupt cmd/cassidy/internal/models cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/config",
		"below the nouns that have models decide",
	},
	"cmd/cassidy/internal/app": {
		"Package app is what every command starts from",
		". runtime/tool runtime/value runtime/host runtime/history runtime/journal/sqlite runtime/model runtime/agent runtime/mcp internal/check internal/config internal/mcpfile internal/project internal/protect internal/scripttest internal/trust sandbox/launch stdlib cmd/cassidy/internal/approve cmd/cassidy/internal/interrupt cmd/cassidy/internal/keyring cmd/cassidy/internal/models cmd/cassidy/internal/servers cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/folder",
		"the commands are given to it, and know it",
	},
	"cmd/cassidy/internal/servers": {
		"Package servers attaches MCP servers to the host of a command",
		"internal/folder internal/hint internal/mcpfile internal/protect internal/scratch internal/trust runtime/host runtime/mcp/attached runtime/mcp/oauth runtime/tool runtime/value internal/watch",
		"it reads what is trusted, and asks nobody",
	},
	"cmd/cassidy/internal/apptest": {
		"Package apptest runs the command in tests",
		". cmd/cassidy/internal/app internal/testutil internal/testworker",
		"tests only",
	},
	"cmd/cassidy/internal/approve": {
		"Package approve puts the questions of calls to the person at the terminal",
		"runtime/tool runtime/value runtime/host runtime/host/toolset internal/config internal/forms internal/hint internal/review internal/scratch internal/visible cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"asks for any command",
	},
	"cmd/cassidy/internal/calls": {
		"Package calls has what commands share that call tools",
		"runtime/tool runtime/value runtime/host runtime/host/toolset cmd/cassidy/internal/app cmd/cassidy/internal/interrupt cmd/cassidy/internal/draw cmd/cassidy/internal/ui runtime/tool/trace",
		"below the nouns, so that none imports another for it",
	},
	"cmd/cassidy/internal/interrupt": {
		"Package interrupt decides what Ctrl-C ends",
		"runtime/value runtime/host cmd/cassidy/internal/ui",
		"the one place of the command that handles that signal",
	},
	"cmd/cassidy/internal/models": {
		"Package models opens the model",
		"runtime/tool runtime/value runtime/host runtime/model runtime/model/anthropic runtime/model/cassidyai runtime/model/catalog runtime/model/gemini runtime/model/ollama runtime/model/openai runtime/model/script internal/config internal/hint cmd/cassidy/internal/ui",
		"what a word for a model means is known in one place",
	},
	"cmd/cassidy/internal/modellist": {
		"Package modellist has the command that lists models",
		"cmd/cassidy/internal/app cmd/cassidy/internal/models cmd/cassidy/internal/draw cmd/cassidy/internal/ui runtime/model runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/ptytest": {
		"Package ptytest opens terminals for the tests",
		"",
		"tests only",
	},
	"cmd/cassidy/internal/runs": {
		"Package runs has the commands that list, show, answer, resume, replay, undo, verify, export and delete recorded runs",
		"cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/calls cmd/cassidy/internal/draw cmd/cassidy/internal/runs/describe cmd/cassidy/internal/setup cmd/cassidy/internal/trust cmd/cassidy/internal/ui cmd/cassidy/internal/workflow internal/config internal/folder runtime/agent runtime/agent/decision runtime/agent/promote runtime/history runtime/history/fixture runtime/history/retry runtime/host runtime/tool runtime/value stdlib runtime/tool/trace internal/hint internal/review",
		"one noun of the command",
	},
	"cmd/cassidy/internal/runs/describe": {
		"Package describe describes recorded runs for people and for programs",
		"cmd/cassidy/internal/calls cmd/cassidy/internal/ui internal/forms internal/hint internal/review runtime/history runtime/tool runtime/value",
		"it describes what it is given, and prints nothing",
	},
	"cmd/cassidy/internal/setup": {
		"Package setup makes projects",
		"internal/project runtime/tool runtime/value runtime/host internal/folder internal/trust scripts cmd/cassidy/internal/app cmd/cassidy/internal/ui",
		"below the nouns that write files of a project",
	},
	"cmd/cassidy/internal/agentfiles": {
		"Package agentfiles has the commands that list, show and write agent files",
		"runtime/tool runtime/value runtime/host internal/agentfile internal/folder internal/project scripts cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/setup cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"one noun of the command",
	},
	"cmd/cassidy/internal/config": {
		"Package config has the commands that show and change the user's config",
		"cmd/cassidy/internal/app cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/config internal/folder internal/yaml runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/completion": {
		"Package completion completes command lines of cassidy in shells",
		"cmd/cassidy/internal/app cmd/cassidy/internal/ui internal/config internal/project internal/skill runtime/history runtime/host runtime/host/toolset runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/demo": {
		"Package demo has the command that shows what cassidy does",
		"cmd/cassidy/internal/app cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/scratch runtime/value",
		"it starts the program as a user does, and knows no other command",
	},
	"cmd/cassidy/internal/wizard": {
		"Package wizard has the command that sets up a model and an MCP client",
		"cmd/cassidy/internal/app cmd/cassidy/internal/models cmd/cassidy/internal/secret cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/config runtime/model runtime/value",
		"it does what several commands do, in the order of a new user",
	},
	"cmd/cassidy/internal/secret": {
		"Package secret has the commands that keep the user's secrets",
		"cmd/cassidy/internal/app cmd/cassidy/internal/keyring cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/config internal/folder runtime/value stdlib/secret",
		"one noun of the command",
	},
	"cmd/cassidy/internal/keyring": {
		"Package keyring keeps the user's secrets in the keyring of the system",
		"runtime/value",
		"the library gets secrets from a function of the program",
	},
	"cmd/cassidy/internal/lock": {
		"Package lock has the command that locks what the tools of a project may do",
		"runtime/tool runtime/value runtime/host internal/lockfile cmd/cassidy/internal/app cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"one noun of the command",
	},
	"cmd/cassidy/internal/faults": {
		"Package faults shows the faults of scripts",
		"cmd/cassidy/internal/draw cmd/cassidy/internal/ui runtime/engine/diagnostic runtime/value",
		"shared by the nouns that check scripts",
	},
	"cmd/cassidy/internal/check": {
		"Package check has the commands that find faults in scripts, and format them",
		"runtime/engine/diagnostic runtime/tool runtime/value runtime/host internal/check internal/folder cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/faults cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"one noun of the command",
	},
	"cmd/cassidy/internal/skill": {
		"Package skill has the commands that list, show and write skills",
		"runtime/tool runtime/value runtime/host runtime/host/toolset internal/folder internal/skill scripts cmd/cassidy/internal/app cmd/cassidy/internal/setup cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"one noun of the command",
	},
	"cmd/cassidy/internal/tool": {
		"Package tool has the commands that list, describe, run, write and check tools",
		"internal/scripttest runtime/tool runtime/value runtime/host runtime/host/toolset runtime/agent internal/project scripts cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/calls cmd/cassidy/internal/setup cmd/cassidy/internal/draw cmd/cassidy/internal/ui runtime/engine/diagnostic internal/check cmd/cassidy/internal/faults runtime/tool/trace",
		"one noun of the command",
	},
	"cmd/cassidy/internal/trust": {
		"Package trust has the command that reviews what is in a project",
		"runtime/tool runtime/value runtime/host internal/config internal/folder internal/mcpfile internal/review internal/trust cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"one noun of the command",
	},
	"cmd/cassidy/internal/lsp": {
		"Package lsp has the command that serves editors",
		"cmd/cassidy/internal/app cmd/cassidy/internal/servers cmd/cassidy/internal/ui internal/assist internal/folder internal/lsp internal/project runtime/host runtime/tool runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/mcp": {
		"Package mcp has the commands for the Model Context Protocol",
		"cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/calls cmd/cassidy/internal/servers cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/folder internal/lockfile internal/mcpfile internal/project internal/review internal/skill internal/trust runtime/agent/codemode runtime/host runtime/host/toolset runtime/mcp/oauth runtime/mcp runtime/mcp/attached runtime/tool runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/test": {
		"Package test has the command that runs the tests of tools",
		"cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/folder internal/project internal/scripttest internal/watch runtime/agent runtime/history runtime/history/fixture runtime/host runtime/mcp runtime/tool runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/workflow": {
		"Package workflow has the command that runs workflows",
		"runtime/tool runtime/value runtime/host runtime/host/toolset runtime/agent runtime/model internal/folder internal/project cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/calls cmd/cassidy/internal/interrupt cmd/cassidy/internal/models cmd/cassidy/internal/draw cmd/cassidy/internal/ui",
		"one noun of the command",
	},
	"cmd/cassidy/internal/doctor": {
		"Package doctor has the command that checks what cassidy finds",
		". cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/config internal/project internal/skill runtime/agent runtime/host runtime/host/toolset runtime/tool runtime/value sandbox stdlib internal/folder",
		"one noun of the command",
	},
	"cmd/cassidy/internal/decision": {
		"Package decision has the command that reads the decisions in a reply",
		"runtime/host/toolset cmd/cassidy/internal/app cmd/cassidy/internal/calls cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/toolfile runtime/agent/decision runtime/tool runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/eval": {
		"Package eval has the command that measures how well models do the tasks of a file",
		". cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/models cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/scratch runtime/agent/decision runtime/agent/eval runtime/host runtime/model runtime/tool runtime/value internal/folder",
		"one noun of the command",
	},
	"cmd/cassidy/internal/task": {
		"Package task has the command that has a model work on a task",
		"cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/calls cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/jsonschema runtime/agent runtime/host runtime/tool runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy/internal/repl": {
		"Package repl has the command that runs what a person types",
		"cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/calls cmd/cassidy/internal/interrupt cmd/cassidy/internal/models cmd/cassidy/internal/draw cmd/cassidy/internal/ui runtime/agent/codemode runtime/host runtime/host/toolset runtime/tool runtime/value sandbox",
		"one noun of the command",
	},
	"cmd/cassidy/internal/chat": {
		"Package chat has the command that talks with a model",
		"cmd/cassidy/internal/agents cmd/cassidy/internal/app cmd/cassidy/internal/calls cmd/cassidy/internal/draw cmd/cassidy/internal/ui internal/skill runtime/agent runtime/history runtime/host runtime/host/toolset runtime/tool runtime/value",
		"one noun of the command",
	},
	"cmd/cassidy-worker": {
		"Cassidy-worker is the process in which scripts run",
		"sandbox stdlib",
		"a worker initializes all that it imports each time that it is started",
	},
	"examples/embed": {
		"Embed",
		". sandbox stdlib",
		"what an embedder sees",
	},
	"examples/mcp-conformance/client": {
		"Client is what the conformance suite of the Model Context Protocol starts as a client",
		"runtime/host runtime/mcp/attached runtime/mcp/oauth runtime/tool runtime/value",
		"the packages that the command attaches servers with",
	},
	"examples/mcp-conformance": {
		"Mcp-conformance serves what the conformance suite",
		". runtime/journal runtime/mcp runtime/tool runtime/value sandbox stdlib",
		"what an embedder sees who serves MCP",
	},
	"examples/server": {
		"Server offers",
		". runtime/journal/sqlite runtime/model runtime/model/openai runtime/model/script runtime/agent sandbox stdlib",
		"what an embedder sees who has tenants",
	},
}

// powers is who alone may import what can act on the world, or what we build
// on: everything outside the standard library is here.
var powers = map[string]struct {
	users string
	why   string
}{
	"os":            {"bench/guard stdlib/fs stdlib/fs/internal/swap stdlib/shell internal/beneath internal/scratch stdlib/internal/rowtest internal/folder internal/protect internal/config internal/mark internal/memory internal/trust internal/index internal/skill internal/project internal/lockfile internal/mcpfile internal/watch runtime/journal/sqlite sandbox sandbox/internal/seal sandbox/launch sandbox/internal/self . cmd/cassidy/... cmd/cassidy-worker examples/embed examples/mcp-conformance examples/mcp-conformance/client examples/server internal/testutil internal/testworker runtime/engine/internal/enginetest runtime/mcp/oauth internal/scripttest internal/check", "files are touched by effects, by who reads the project's folder, by who keeps the records of runs, by who starts a worker and looks at it, by the command, and by who builds a worker for tests"},
	"os/exec":       {"bench/guard sandbox/launch cmd/cassidy/internal/app cmd/cassidy/internal/approve cmd/cassidy/internal/demo internal/testutil internal/testworker", "the launcher of commands where no system confines them, a person's own editor, the demo, and the worker of a test, and benchmarks"},
	"os/signal":     {"sandbox/launch cmd/cassidy/internal/interrupt cmd/cassidy/internal/ui examples/server", "a library installs no signal handler; the supervisor of a command is a process of its own"},
	"syscall":       {"internal/testutil stdlib/fs stdlib/fs/internal/swap stdlib/web runtime/journal/sqlite sandbox sandbox/launch cmd/cassidy/internal/ui runtime/mcp examples/server internal/mark internal/memory internal/protect internal/scratch runtime/mcp/oauth", "opening a file without waiting for a FIFO's other end; the lock of a run, which ends with its process; being asked before a connection is made; a client that has gone; how a worker is started, and how it ended; the names of SIGTERM and SIGHUP; the lock of the programs that tests build; the number of a file, how many names it has and when it was made"},
	"net":           {"stdlib/web runtime/mcp cmd/cassidy/internal/mcp examples/server runtime/mcp/oauth", "only the effects of http reach a network for scripts, and they check each address that they dial; a server listens"},
	"net/http":      {". stdlib stdlib/web runtime/model runtime/model/internal/wire runtime/model/anthropic runtime/model/cassidyai runtime/model/gemini cmd/cassidy/internal/models runtime/mcp cmd/cassidy/internal/mcp examples/mcp-conformance examples/mcp-conformance/client examples/server runtime/mcp/oauth runtime/mcp/attached internal/scripttest", "the client of http.*, without a proxy, cookies or shared connections; and what models are asked with, for the command through the proxy of its environment; in the root and stdlib only the types of Options.HTTP; and a server"},
	"net/netip":     {"internal/scripttest stdlib stdlib/web internal/config . runtime/mcp/oauth", "reads and judges addresses, and reaches none"},
	"net/url":       {"stdlib/encoding stdlib/internal/urls stdlib/secret stdlib/text stdlib/web internal/jsonschema internal/lsp internal/mcpfile runtime/model/cassidyai runtime/model/internal/wire runtime/mcp cmd/cassidy/internal/mcp cmd/cassidy/internal/faults cmd/cassidy/internal/models runtime/mcp/oauth", "takes addresses apart, and reaches none"},
	"crypto/tls":    {"stdlib/web", "the connections of http.*"},
	"crypto/x509":   {"stdlib stdlib/web .", "the authorities that http.* trusts"},
	"plugin":        {"", "nothing is loaded into the process"},
	"io/ioutil":     {"", "os by another name"},
	"os/user":       {"", "the command asks the environment"},
	"unsafe":        {"sandbox sandbox/internal/seal sandbox/launch sandbox/internal/seccomp", "seccomp and capset take pointers, and have no wrapper; a message of megabytes becomes a string without a copy"},
	"embed":         {"cmd/cassidy/internal/completion cmd/cassidy/internal/demo tools scripts runtime/model/catalog", "data travels in the binary"},
	"time/tzdata":   {"stdlib/clock", "a sandboxed process cannot read the system's time zones"},
	"runtime/debug": {"internal/testutil cmd/cassidy cmd/cassidy/internal/app sandbox sandbox/internal/seal runtime/host/internal/gate runtime/history", "the version of the build; a worker's limits; the stack of a panic, for the log"},

	"go.starlark.net":                               {"runtime/engine/internal/star runtime/engine/internal/habits runtime/engine/internal/lint/starlint internal/scan runtime/agent/promote", "one package runs the language; the others read its syntax"},
	"github.com/bazelbuild/buildtools":              {"runtime/engine/internal/star", "reads type annotations, which go.starlark.net does not"},
	"github.com/yuin/gopher-lua":                    {"runtime/engine/internal/lua runtime/engine/internal/lint/lualint runtime/engine/source", "one package runs the language; the others read its syntax"},
	"gopkg.in/yaml.v3":                              {"internal/yaml", "archived upstream: one file wraps it"},
	"github.com/google/jsonschema-go":               {"internal/jsonschema", "checks the schemas that others wrote"},
	"github.com/bmatcuk/doublestar/v4":              {"runtime/tool/internal/target stdlib/fs stdlib/fs/internal/globs", "globs, in capabilities and in fs.glob"},
	"github.com/aymanbagabas/go-udiff":              {"stdlib/fs/internal/edits stdlib/text runtime/host/internal/diffs internal/review internal/scripttest", "unified diffs: of effects, in questions, in tests, and where they are shown"},
	"github.com/urfave/cli/v2":                      {"cmd/cassidy/...", "only the command has flags"},
	"golang.org/x/sys":                              {"runtime/journal/sqlite stdlib/fs/internal/swap sandbox sandbox/internal/seal sandbox/launch sandbox/internal/seccomp sandbox/internal/seccomp/seccomptest internal/mark internal/beneath cmd/cassidy/internal/ui cmd/cassidy/internal/ptytest", "the time when a folder was made; the same lock on Windows; opening what is below a folder without following links; the kernel's names for what a worker and a command give up; discarding what was typed too early"},
	"github.com/rivo/uniseg":                        {"cmd/cassidy/internal/draw", "how many cells a text has, and where it can be cut"},
	"github.com/yuin/goldmark":                      {"cmd/cassidy/internal/draw", "reads Markdown"},
	"golang.org/x/term":                             {"cmd/cassidy/internal/ui", "edits lines on a terminal, and knows its width"},
	"golang.org/x/net":                              {"stdlib/text stdlib/web sandbox/internal/seccomp sandbox/internal/seccomp/seccomptest cmd/cassidy/internal/models", "httpproxy: which proxy the environment names for an address; idna: which host a name means, asked before it is judged; html: reads pages tag by tag; bpf: assembles the filter of system calls"},
	"github.com/landlock-lsm/go-landlock":           {"sandbox/internal/seal sandbox/launch", "what a worker and a command may not open"},
	"kernel.org/pub/linux/libs/security/libcap/psx": {"sandbox/internal/seal", "capabilities belong to threads, with cgo or without"},
	"github.com/creachadair/jrpc2":                  {"internal/lsp", "JSON-RPC, on which the protocol of editors is built"},
	"database/sql":                                  {"runtime/journal/sqlite stdlib/table", "the records of runs; and data.sql, in memory"},
	"modernc.org/sqlite":                            {"runtime/journal/sqlite stdlib/table", "the database, without cgo"},
	"golang.org/x/text":                             {"stdlib/fs/internal/edits stdlib/table stdlib/text stdlib/web internal/visible", "the encodings of old text files and pages, and the properties of characters"},
	"modernc.org/libc":                              {"stdlib/table", "two switches of the database that its driver has no name for: how much memory a query may take"},
	"mvdan.cc/sh/v3":                                {"stdlib/shell", "takes command lines apart, and runs none"},
	"github.com/modelcontextprotocol/go-sdk":        {"runtime/mcp runtime/mcp/attached examples/mcp-conformance runtime/mcp/oauth", "the protocol; a door stands on it"},
	"github.com/rogpeppe/go-internal":               {"internal/config cmd/cassidy/internal/mcp runtime/mcp/oauth", "lockedfile: two processes that change the rules of a config, or a list of servers; the rest is for tests only"},
	"golang.org/x/mod":                              {"internal/lockfile", "dirhash: digests as in go.sum"},
	"golang.org/x/oauth2":                           {"runtime/mcp/oauth", "the tokens of the SDK's authorization"},
	"github.com/tailscale/hujson":                   {"cmd/cassidy/internal/mcp", "JSON with comments: the settings of editors"},
	"github.com/zalando/go-keyring":                 {"cmd/cassidy/internal/keyring", "the keyrings of three systems"},
	"github.com/fsnotify/fsnotify":                  {"internal/watch", "the system's reports of changed files"},
	"github.com/google/go-cmp":                      {"runtime/engine/internal/enginetest", "tests"},
	"pgregory.net/rapid":                            {"internal/valuetest", "tests only"},
}

// tree returns the Go files of the repository, which are parsed once for all tests of their structure.
var tree = sync.OnceValues(func() ([]sourcetest.File, error) { return sourcetest.Files(".") })

// goFiles returns the Go files of the repository.
func goFiles(t *testing.T) []sourcetest.File {
	t.Helper()
	files, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// imports returns the packages that a file imports.
func imports(f sourcetest.File) []string {
	var list []string
	for _, spec := range f.AST.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		list = append(list, p)
	}
	return list
}

func TestLayers(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		layer, known := layers[f.Dir]
		if !known {
			if !f.Test {
				t.Errorf("%s: package %s is not in the table of layers", f.Name, f.Dir)
			}
			continue
		}
		if f.Test {
			continue // a test may look at anything
		}
		if f.AST.Doc != nil && strings.HasPrefix(strings.Join(strings.Fields(f.AST.Doc.Text()), " "), layer.doc) {
			documented[f.Dir] = true
		}
		for _, p := range imports(f) {
			ours, ok := strings.CutPrefix(p, module)
			if !ok {
				continue
			}
			ours = strings.TrimPrefix(ours, "/")
			if ours == "" {
				ours = "."
			}
			if !slices.Contains(strings.Fields(layer.uses), ours) {
				t.Errorf("%s: %s must not import %s: %s", f.Name, f.Dir, ours, layer.why)
			}
		}
	}
	for dir, layer := range layers {
		if !documented[dir] {
			t.Errorf("package %s: its documentation should begin with %q", dir, layer.doc)
		}
	}
}

// TestDrawing checks that the drawing in ARCHITECTURE.md has each package that is not the
// inside of another one, and that imports lead downwards in it, or stay on their level.
func TestDrawing(t *testing.T) {
	t.Parallel()
	level := drawn(t)
	for dir := range layers {
		if _, ok := level[dir]; !ok && !isInside(dir) {
			t.Errorf("ARCHITECTURE.md: the drawing lacks %s", dir)
		}
	}
	for _, f := range goFiles(t) {
		from, ok := level[f.Dir]
		if f.Test || !ok {
			continue
		}
		for _, p := range imports(f) {
			to, ok := level[ours(p)]
			if ok && to < from {
				t.Errorf("%s imports %s, which is drawn above %s", f.Name, p, f.Dir)
			}
		}
	}
}

// TestArchitectureFiles checks that the files and folders that ARCHITECTURE.md and
// CONTRIBUTING.md name exist.
func TestArchitectureFiles(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range goFiles(t) {
		for name := f.Name; name != ""; _, name, _ = strings.Cut(name, "/") {
			names[name] = true // a page may leave out the first folders
		}
	}
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, quoted := range regexp.MustCompile("`([a-z_/]+\\.go|(?:cmd|internal|runtime|sandbox|scripts|stdlib)/[a-z/-]+)`").FindAllStringSubmatch(string(text), -1) {
			name := quoted[1]
			if _, err := os.Stat(name); err != nil && !names[name] {
				t.Errorf("%s: %s does not exist", page, name)
			}
		}
	}
}

// drawn returns the level of each package in the drawing, from the top.
func drawn(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, drawing, _ := strings.Cut(string(text), "```\n")
	drawing, _, _ = strings.Cut(drawing, "```")
	level, n := map[string]int{}, 0
	for line := range strings.Lines(drawing) {
		if strings.HasPrefix(line, " ├") || strings.HasPrefix(line, " └") {
			n++
		}
		for _, word := range strings.Fields(line) {
			if word == "cassidy" {
				word = "."
			}
			if _, ok := layers[word]; !ok {
				continue
			}
			if _, twice := level[word]; !twice {
				level[word] = n
			}
		}
	}
	return level
}

// isInside reports whether a package is a part of another one, or is for tests only.
func isInside(dir string) bool {
	parent, _, inside := strings.Cut(dir, "/internal/")
	_, known := layers[parent]
	return inside && known || strings.HasPrefix(layers[dir].why, "tests only")
}

// ours returns the folder of one of our packages, or "".
func ours(p string) string {
	if p == module {
		return "."
	}
	dir, _ := strings.CutPrefix(p, module+"/")
	return dir
}

func TestPowers(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.Test {
			continue
		}
		for _, p := range imports(f) {
			power, guarded := powers[root(p)]
			switch {
			case guarded && !isUser(power.users, f.Dir):
				t.Errorf("%s: %s must not import %s: %s", f.Name, f.Dir, p, power.why)
			case !guarded && strings.Contains(strings.Split(p, "/")[0], ".") && !strings.HasPrefix(p, module):
				t.Errorf("%s: the dependency %s is not in the table of powers", f.Name, p)
			}
		}
	}
}

// isUser reports whether a list of packages has one; DIR/... stands for all at and
// below a folder.
func isUser(users, dir string) bool {
	return slices.ContainsFunc(strings.Fields(users), func(user string) bool {
		below, all := strings.CutSuffix(user, "/...")
		return user == dir || all && (dir == below || strings.HasPrefix(dir, user[:len(user)-len("...")]))
	})
}

// root returns the row of the table that an import path belongs to: itself, or
// the module that holds it.
func root(p string) string {
	for q := p; q != "." && q != "/"; q = path.Dir(q) {
		if _, ok := powers[q]; ok && q != "embed" {
			return q
		}
	}
	return p
}

// TestTemporaryFolders checks that every temporary folder is one that the next process removes if
// this one is killed. What only tests and benchmarks make is theirs.
func TestTemporaryFolders(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.Test || isUser("internal/scratch internal/testutil internal/testworker runtime/engine/internal/enginetest bench/guard examples/mcp-conformance/client", f.Dir) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			made, ok := call.Fun.(*ast.SelectorExpr)
			inTemp := ok && made.Sel.Name == "CreateTemp"
			if inTemp {
				lit, ok := call.Args[0].(*ast.BasicLit)
				inTemp = ok && lit.Value == `""`
			}
			if ok && made.Sel.Name == "MkdirTemp" || inTemp {
				t.Errorf("%s: make temporary folders with scratch.Make", f.Set.Position(n.Pos()))
			}
			return true
		})
	}
}

// TestNoState checks that a library keeps nothing of its own: no init, and no
// package-level variable that is ever assigned to.
func TestNoState(t *testing.T) {
	t.Parallel()
	files := goFiles(t)
	vars := map[string]bool{} // "dir name"
	for _, f := range files {
		for _, d := range f.AST.Decls {
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.VAR && !f.Test {
				for _, spec := range gen.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						vars[f.Dir+" "+name.Name] = true
					}
				}
			}
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s has an init function", f.Name)
			}
		}
	}
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			for _, left := range assigned(n) {
				if id, ok := base(left).(*ast.Ident); ok && vars[f.Dir+" "+id.Name] {
					t.Errorf("%s assigns to the package-level variable %s", f.Set.Position(n.Pos()), id.Name)
				}
			}
			return true
		})
	}
}

// assigned returns what a statement assigns to.
func assigned(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	}
	return nil
}

// base returns the variable that an expression is a part of, as in v[i].f.
func base(x ast.Expr) ast.Expr {
	for {
		switch y := x.(type) {
		case *ast.IndexExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return x
		}
	}
}
