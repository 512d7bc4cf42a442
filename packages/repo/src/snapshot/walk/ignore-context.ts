import { closeSync, readSync } from 'node:fs'
import { openSource } from '../../threads/read-source.ts'
import {
  applyIgnoreRules,
  compileIgnoreRule,
  type IgnoreRule,
  ignoreSubject,
  parseIgnoreFile,
} from '../ignore-rules.ts'
import type { FilesPolicy } from '../policy.ts'
import type { PolicyTree } from '../policy-tree.ts'
import { readIgnoreFile } from './ignore-file.ts'
import { reached, type SourceEntry, statEntry } from './source-entry.ts'
import type { SourceFolder } from './source-folder.ts'

/** Which entries of a folder are left out, and what its subfolders inherit. */
export interface IgnoreContext {
  readonly parent?: IgnoreContext
  readonly rules: readonly IgnoreRule[]
  /** The names of files that hold more rules. */
  readonly dotFiles: readonly string[]
  readonly maxFileSize: number
  readonly oneFileSystem: boolean
}

/** A folder as `enterDirectory` needs it. */
export interface EnteredDirectory {
  entry: SourceEntry
  source: SourceFolder
  names: readonly string[]
  /** From the root of the snapshot: '' for the root itself, '/a/b' below it. */
  relativePath: string
  policies: PolicyTree
}

const cacheMarkerName = 'CACHEDIR.TAG'
const cacheMarkerSignature = Buffer.from('Signature: 8a477f597d28d172789f06886806bc55')

/** The context above the root: nothing is left out. */
export const nothingIgnored: IgnoreContext = { rules: [], dotFiles: [], maxFileSize: 0, oneFileSystem: false }

/**
 * The context for the entries of a folder, from its parent's, its policy and the ignore files in it.
 * Throws SourceReadError for an ignore file that cannot be read, RepoError INVALID_ARGUMENT for a bad rule.
 */
export function enterDirectory(parent: IgnoreContext, directory: EnteredDirectory): IgnoreContext {
  const { names, relativePath } = directory
  const files = directory.policies.defined?.files
  const dotFiles = files ? (files.ignoreDotFiles ?? []) : parent.dotFiles
  const present = dotFiles.filter(name => names.includes(name))
  if (present.length === 0 && !files) return parent
  const rules = (files?.ignore ?? []).map(rule => compileIgnoreRule(rule, relativePath))
  for (const name of present) {
    rules.push(...parseIgnoreFile(readIgnoreFile(directory.source, name) ?? '', relativePath))
  }
  return { parent, rules, dotFiles, ...limitsOf(parent, files) }
}

/** True when the entry of a folder is left out of the snapshot. */
export function isIgnored(context: IgnoreContext, entry: SourceEntry, folder: EnteredDirectory): boolean {
  if (hasRules(context)) {
    const subject = ignoreSubject(`${folder.relativePath}/${entry.name}`, entry.kind === 'directory')
    if (ignoredByName(context, subject)) return true
  }
  if (context.maxFileSize > 0 && entry.size > context.maxFileSize) return true
  return context.oneFileSystem && entry.device !== folder.entry.device
}

/** True for a folder that its program has marked as a cache; such a folder is stored empty. */
export function isCacheDirectory(directory: EnteredDirectory): boolean {
  if (directory.policies.effective.files.ignoreCacheDirs === false) return false
  if (!directory.names.includes(cacheMarkerName)) return false
  try {
    const marker = statEntry(directory.source, cacheMarkerName)
    if (marker?.kind !== 'file') return false
    const descriptor = openSource(reached(marker))
    try {
      const start = Buffer.alloc(cacheMarkerSignature.length)
      return readSync(descriptor, start) === start.length && start.equals(cacheMarkerSignature)
    } finally {
      closeSync(descriptor)
    }
  } catch {
    // A marker that cannot be read marks nothing.
    return false
  }
}

function limitsOf(parent: IgnoreContext, files: FilesPolicy | undefined) {
  if (!files) return { maxFileSize: parent.maxFileSize, oneFileSystem: parent.oneFileSystem }
  return { maxFileSize: files.maxFileSize || parent.maxFileSize, oneFileSystem: files.oneFileSystem ?? false }
}

function hasRules(context: IgnoreContext): boolean {
  for (let at: IgnoreContext | undefined = context; at; at = at.parent) if (at.rules.length > 0) return true
  return false
}

// Rules of outer folders come first, so that inner ones can take a path back in.
function ignoredByName(context: IgnoreContext, subject: ReturnType<typeof ignoreSubject>): boolean {
  const outer = context.parent ? ignoredByName(context.parent, subject) : false
  return applyIgnoreRules(context.rules, subject, outer)
}
