// Package table lets scripts work with tables: read them from files and texts, inspect
// them, and make new tables from them.
//
// A [Table] has columns of one type each. It is held in memory, or it is a file that is
// read again in batches of rows for each operation, so a file larger than memory can be
// described and grouped. A table is immutable; each method returns a new one.
//
// The functions of the module data ([Funcs]) and the methods of a table are rows
// ([tool.Func]), as for every other module. They are pure: they run within the limits of
// the script and request the bytes of a file through the gate, as the script would.
package table
