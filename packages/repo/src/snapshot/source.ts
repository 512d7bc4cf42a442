import path from 'node:path'
import { RepoError } from '../errors/repo-error.ts'

/** Where a snapshot came from. Snapshots of equal source form one history. */
export interface SourceInfo {
  host: string
  userName: string
  path: string
}

/** `user@host:path`, `user@host` for a whole user, `(global)` for nothing at all. */
export function printSource(source: SourceInfo): string {
  if (source.host === '' && source.userName === '' && source.path === '') return '(global)'
  const owner = `${source.userName}@${source.host}`
  return source.path === '' ? owner : `${owner}:${source.path}`
}

/**
 * Reads `user@host:path`, `user@host`, `@host`, `(global)` or a local path, which is made absolute and gets
 * the given host and user. Throws RepoError INVALID_ARGUMENT for an empty host.
 */
export function parseSource(text: string, local: { host: string; userName: string }): SourceInfo {
  if (text === '(global)') return { host: '', userName: '', path: '' }
  const at = text.indexOf('@')
  const colon = text.indexOf(':')
  if (at > 0 && colon > at) {
    return { userName: text.slice(0, at), host: text.slice(at + 1, colon), path: text.slice(colon + 1) }
  }
  if (at >= 0 && colon < 0) {
    if (at + 1 === text.length) {
      throw new RepoError('INVALID_ARGUMENT', {
        message: `The source ${JSON.stringify(text)} has no host name`,
        hint: 'Write user@host:path, or ./ before a local path that contains @',
      })
    }
    return { userName: text.slice(0, at), host: text.slice(at + 1), path: '' }
  }
  return { ...local, path: path.resolve(text) }
}

/** True when both name the same history. */
export function sameSource(a: SourceInfo, b: SourceInfo): boolean {
  return a.host === b.host && a.userName === b.userName && a.path === b.path
}

/** Velero's conventions for the snapshots it shares with us. */
export const veleroConventions = {
  host: 'default',
  userName: 'default',
  description: 'Kopia Uploader',
  uploader: 'kopia',
  pin: 'velero-pin',
  requesterTag: 'snapshot-requester',
  uploaderTag: 'snapshot-uploader',
} as const

/** The source of a Velero volume: `<requester>/kopia/<real source>` without a leading slash. */
export function veleroSource(requester: string, realSource: string): SourceInfo {
  const { host, userName, uploader } = veleroConventions
  return { host, userName, path: `${requester}/${uploader}/${realSource}` }
}
