package shell

import "sync"

// commandTable is the commands that anybody may run who has the capability, in
// the ways in which they only read: no flag here writes a file, starts a
// program or reads a list of further files. git has a table of its own.
//
// What is not here, such as interpreters, find, tar, sed, awk, xargs, env, ssh and
// make, can do anything by its arguments, and runs where the user's config allows it.
var commandTable = sync.OnceValue(func() map[string]commandSchema {
	return map[string]commandSchema{
		"basename": {flags: "-az -s=text --multiple --suffix=text --zero", args: "text*"},
		"cat":      {flags: "-AbeEnstTuv --number --number-nonblank --squeeze-blank --show-all --show-ends --show-tabs --show-nonprinting", args: "path path*"},
		"cmp":      {flags: "-bls -n=int -i=word --print-bytes --verbose --silent --quiet --bytes=int --ignore-initial=word", args: "path path"},
		"cut":      {flags: "-nsz -b=word -c=word -d=text -f=word --bytes=word --characters=word --delimiter=text --fields=word --complement --only-delimited --output-delimiter=text --zero-terminated", args: "path path*"},
		"date":     {flags: "-uR -d=text -r=path -I?=word --date=text --reference=path --utc --universal --rfc-email --rfc-3339=word --iso-8601?=word", args: "plus?"},
		"df":       {flags: "-ahHiklPT -B=word -t=word -x=word --all --human-readable --inodes --local --portability --print-type --total --output?=word --type=word --exclude-type=word", args: "path*"},
		"diff": {flags: "-abBcdeiNnpqrstTuwy -C=int -U=int -I=text -x=text -W=int --unified?=int --context?=int --brief --side-by-side --recursive --new-file --ignore-case " +
			"--ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --ignore-matching-lines=text --exclude=text --minimal --text --color?=word --label=text " +
			"--width=int --suppress-common-lines --left-column --report-identical-files --no-dereference --strip-trailing-cr --expand-tabs", args: "path path"},
		"dirname": {flags: "-z --zero", args: "text*"},
		"du": {flags: "-abcDhHkLlmPsSx0 -B=word -d=int -t=int --all --apparent-size --bytes --total --human-readable --si --summarize --separate-dirs --max-depth=int --exclude=text " +
			"--one-file-system --null --time?=word --inodes --threshold=int", args: "path*"},
		"echo":      {free: true},
		"expr":      {free: true},
		"false":     {},
		"file":      {flags: "-bhikLN0 -F=text -e=word -P=word --brief --mime --mime-type --mime-encoding --dereference --no-dereference --separator=text --exclude=word --print0 --extension --apple --keep-going", args: "path path*"},
		"grep":      {flags: grepFlags, args: "text path*", instead: "-e -f --regexp --file"},
		"head":      {flags: "-# -qvz -c=int -n=int --bytes=int --lines=int --quiet --silent --verbose --zero-terminated", args: "path path*"},
		"ls":        {flags: lsFlags, args: "path*"},
		"md5sum":    {flags: sumFlags, args: "path path*"},
		"printf":    {free: true},
		"ps":        {flags: psFlags, args: "word*", bare: true},
		"pwd":       {flags: "-LP --logical --physical"},
		"seq":       {flags: "-w -f=text -s=text --equal-width --format=text --separator=text", args: "number number? number?"},
		"sha1sum":   {flags: sumFlags, args: "path path*"},
		"sha256sum": {flags: sumFlags, args: "path path*"},
		"sha512sum": {flags: sumFlags, args: "path path*"},
		"sleep":     {args: "number number*"},
		"sort": {flags: "-bcCdfghiMmnrRsuVz -k=word -t=text --key=word --field-separator=text --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort " +
			"--human-numeric-sort --month-sort --numeric-sort --random-sort --reverse --sort=word --version-sort --check?=word --merge --stable --unique --zero-terminated", args: "path path*"},
		"stat":  {flags: "-fLt -c=text --dereference --file-system --format=text --printf=text --terse", args: "path path*"},
		"tail":  {flags: "-# -qvz -c=int -n=int --bytes=int --lines=int --quiet --silent --verbose --zero-terminated", args: "path path*"},
		"tr":    {flags: "-cCdst --complement --delete --squeeze-repeats --truncate-set1", args: "text text?"},
		"true":  {},
		"uname": {flags: "-aimnoprsv --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system"},
		"wc":    {flags: "-clLmw --bytes --chars --lines --max-line-length --words --total=word", args: "path path*"},
		"which": {flags: "-a", args: "word*"},
	}
})

// The flags of those that have many.
const (
	grepFlags = "-# -abcEFGhHiLlnoPqrRsTUvVwxyzZ -A=int -B=int -C=int -D=word -d=word -e=text -f=path -m=int " +
		"--after-context=int --before-context=int --context=int --devices=word --directories=word --regexp=text --file=path --max-count=int " +
		"--extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data " +
		"--no-messages --invert-match --byte-offset --line-number --line-buffered --with-filename --no-filename --label=text --only-matching --quiet --silent " +
		"--binary-files=word --text --include=text --exclude=text --exclude-from=path --exclude-dir=text --files-without-match --files-with-matches --count " +
		"--initial-tab --null --color?=word --colour?=word --recursive --dereference-recursive"
	lsFlags = "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxX1 -I=text -T=int -w=int --all --almost-all --author --escape --block-size=word --ignore-backups --color?=word " +
		"--directory --classify?=word --file-type --format=word --full-time --no-group --human-readable --si --dereference --dereference-command-line --hide=text " +
		"--hyperlink?=word --indicator-style=word --inode --ignore=text --kibibytes --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name " +
		"--quoting-style=word --reverse --recursive --size --sort=word --time=word --time-style=text --tabsize=int --width=int --group-directories-first --zero"
	sumFlags = "-bctwz --binary --check --tag --text --ignore-missing --quiet --status --strict --warn --zero"
	// ps also takes flags without - ("aux"), which are words of letters here. e
	// there, and E elsewhere, would ask for environments, which the kernel
	// refuses it.
	psFlags = "-AacdeFfHjLlMNTwy -C=word -G=word -g=word -o=word -O=word -p=word -q=word -s=word -t=word -u=word -U=word " +
		"--no-headers --no-heading --headers --forest --sort=word --pid=word --ppid=word --user=word --User=word --group=word --format=word --cols=int --columns=int --width=int --rows=int --lines=int --deselect --sid=word --tty=word"
)
