package identity

import (
	"os"
	"syscall"
)

// identify returns what an open file is.
func identify(f *os.File) (Identity, error) {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err != nil {
		return Identity{}, err
	}
	return Identity{Number: int64(info.FileIndexHigh)<<32 | int64(info.FileIndexLow), Made: info.CreationTime.Nanoseconds()}, nil
}
