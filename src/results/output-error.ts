import { errorCode, PinbenchError } from "../errors.js";

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
  ENOENT: "its folder does not exist",
  ENOTDIR: "a part of its path is a file, not a folder",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links lead in a circle",
  ENAMETOOLONG: "its name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "it would be larger than a file may be",
  ENXIO: "nothing reads from it",
};

const chooseAnother = "Choose another path to write to.";

/** One sentence on why `path` cannot be written, from an error of the file system. */
export function cannotWrite(path: string, cause: unknown): PinbenchError {
  const code = errorCode(cause);
  const reason = (code && reasons[code]) ?? code ?? String(cause);
  return new PinbenchError("output", `cannot write ${path}: ${reason}.`, { hint: chooseAnother, cause });
}

/** The same where the reason was found without a failing call. */
export function unwritable(path: string, reason: string): PinbenchError {
  return new PinbenchError("output", `cannot write ${path}: ${reason}.`, { hint: chooseAnother });
}
