import { readFile } from 'node:fs/promises'
import type { Clock } from '../clock.ts'
import { KubeError } from '../errors.ts'

/** A bearer token in a file that something else renews. */
export interface TokenFile {
  read(): Promise<string>
  /** The token in hand was refused: read the file again next time. */
  invalidate(): void
}

/** The kubelet renews projected tokens well before they expire, so a minute-old one is still good. */
const freshForMs = 60_000

/** Reads the token at most once a minute, and again after `invalidate`. Throws `CredentialFailed`. */
export function tokenFile(path: string, clock: Clock): TokenFile {
  let token: { value: string; readAt: number } | undefined
  return {
    async read() {
      if (token !== undefined && clock.now() - token.readAt < freshForMs) return token.value
      const value = await readToken(path)
      token = { value, readAt: clock.now() }
      return value
    },
    invalidate() {
      token = undefined
    },
  }
}

async function readToken(path: string): Promise<string> {
  const hint = 'check that the service account token is mounted, or that the file of the kubeconfig exists'
  let value: string
  try {
    value = (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    throw new KubeError('CredentialFailed', { message: `cannot read the token file ${path}`, hint, cause })
  }
  if (value === '')
    throw new KubeError('CredentialFailed', { message: `the token file ${path} is empty`, hint })
  return value
}
