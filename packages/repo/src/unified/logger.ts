/** Takes a constant message and the fields it is about. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Where the two halves of the data path write: the data mover and the repository below it, each its own. */
export interface DataPathLoggers {
  readonly uploader: Logger
  readonly repository: Logger
}

/** A logger that drops everything. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
