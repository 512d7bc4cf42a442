/** A structured log: fields first, then a constant sentence. A pino logger fits. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** A logger that adds these fields to every line. */
  child(fields: object): Logger
}

const ignore = (): void => undefined

/** Says nothing. The default where no logger is given. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
}
