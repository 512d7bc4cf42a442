import { readFileSync } from 'node:fs'
import type { ReadStream } from 'node:tty'
import { RepoError } from '../errors/repo-error.ts'
import { usageError } from './usage-error.ts'

/** The flags that say where the password is. */
export interface PasswordFlags {
  readonly 'password-file'?: string | undefined
  readonly 'password-env'?: string | undefined
}

/** Where passwords can come from. */
export interface PasswordSources {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>
  readonly prompt: (text: string) => void
  readonly signal: AbortSignal
}

/**
 * The password from a file (its first line), a variable or the terminal, asked for twice when it is new.
 * Throws `INVALID_ARGUMENT` when it is nowhere or empty or when the two differ, `CANCELLED` on Ctrl-C.
 */
export async function readPassword(
  flags: PasswordFlags,
  sources: PasswordSources,
  { isNew = false } = {},
): Promise<string> {
  const { 'password-file': file, 'password-env': variable } = flags
  if (file !== undefined && variable !== undefined) {
    throw usageError('--password-file and --password-env exclude each other')
  }
  if (file !== undefined) return notEmpty(firstLineOf(file), `the file ${file}`)
  if (variable !== undefined) return notEmpty(sources.env[variable] ?? '', `the variable ${variable}`)
  if (sources.stdin.isTTY !== true) {
    throw usageError(
      'there is no password and no terminal to ask for one',
      'give --password-file FILE or --password-env NAME',
    )
  }
  return withoutEcho(sources.stdin, () => askPassword(sources, isNew))
}

async function askPassword(sources: PasswordSources, isNew: boolean): Promise<string> {
  const password = notEmpty(await ask('Password: ', sources), 'the answer')
  if (isNew && password !== (await ask('Once more: ', sources)))
    throw usageError('the passwords differ', 'try again')
  return password
}

function firstLineOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/, 1)[0] ?? ''
  } catch (cause) {
    throw usageError(
      `the password file ${file} cannot be read: ${(cause as Error).message}`,
      'check the path',
    )
  }
}

function notEmpty(password: string, where: string): string {
  if (password === '') throw usageError(`${where} holds no password`, 'a repository needs one')
  return password
}

/**
 * Tells the terminal not to show what is typed while questions are asked, before the first of them can be
 * answered.
 */
async function withoutEcho<T>(stdin: PasswordSources['stdin'], work: () => Promise<T>): Promise<T> {
  stdin.setRawMode?.(true)
  try {
    return await work()
  } finally {
    stdin.setRawMode?.(false)
    stdin.pause()
  }
}

async function ask(question: string, { stdin, prompt, signal }: PasswordSources): Promise<string> {
  prompt(question)
  try {
    return await typedLine(stdin, signal)
  } finally {
    prompt('\n')
  }
}

function typedLine(stdin: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = ''
    const stop = (settle: () => void) => {
      stdin.off('data', take)
      signal.removeEventListener('abort', cancel)
      settle()
    }
    const cancel = () => stop(() => reject(new RepoError('CANCELLED', { message: 'No password was given' })))
    const take = (bytes: Buffer | string) => {
      const taken = takeKeys(typed, bytes.toString())
      typed = taken.typed
      if (taken.key === 'cancel') cancel()
      if (taken.key === 'enter') stop(() => resolve(typed))
    }
    stdin.on('data', take)
    stdin.resume()
    signal.addEventListener('abort', cancel, { once: true })
  })
}

/**
 * What is typed so far after some more keys, up to Enter (or Ctrl-D) or Ctrl-C. Backspace takes a character
 * back.
 */
export function takeKeys(
  typed: string,
  keys: string,
): { readonly typed: string; readonly key: 'enter' | 'cancel' | undefined } {
  let text = typed
  for (const key of keys) {
    if (key === '\x03') return { typed: text, key: 'cancel' }
    if (key === '\r' || key === '\n' || key === '\x04') return { typed: text, key: 'enter' }
    if (key === '\x7f' || key === '\b') text = [...text].slice(0, -1).join('')
    else text += key
  }
  return { typed: text, key: undefined }
}
