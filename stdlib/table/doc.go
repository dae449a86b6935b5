// Package table is what scripts can do with tables: read them from files and
// texts, look into them, and make others of them.
//
// A [Table] has columns of one type each. It is held in memory, or it is a file
// that is read again, a batch of rows at a time, whenever something is asked of
// it: so a file larger than the memory can be described and grouped. Nothing
// changes a table; each method gives another.
//
// The functions of the module data ([Funcs]) and the methods of a table are rows
// ([tool.Func]) like all that scripts can use. They are pure: they run beside the
// script, under its limits, and ask for the bytes of a file as the script would,
// through the gate.
package table
