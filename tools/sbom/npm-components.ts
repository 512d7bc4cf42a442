import type { Component } from './component.ts'
import { SbomError } from './sbom-error.ts'

/** What `package-lock.json` says about a package. */
export interface LockedPackage {
  version?: string
  license?: string
  integrity?: string
  dependencies?: Readonly<Record<string, string>>
  optionalDependencies?: Readonly<Record<string, string>>
  peerDependencies?: Readonly<Record<string, string>>
}

/** Packages by where they lie, for example `node_modules/a/node_modules/b`. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>

/** The folders of the npm packages that sources belong to. */
export function packageFolders(sources: readonly string[]): string[] {
  const folders = sources.flatMap(
    source => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(source)?.[0] ?? [],
  )
  return [...new Set(folders)].sort((a, b) => (a < b ? -1 : 1))
}

/** One component for each npm package of which there is something in the bundle. Throws SbomError for one that is not locked. */
export function npmComponents(sources: readonly string[], locked: LockedPackages): Component[] {
  const folders = packageFolders(sources)
  return folders.map(folder => {
    const { version, license, integrity, ...found } = locked[folder] ?? {}
    if (version === undefined) {
      throw new SbomError(`${folder} is in the bundle and not in package-lock.json`, 'run npm install')
    }
    const needs = Object.keys({
      ...found.dependencies,
      ...found.optionalDependencies,
      ...found.peerDependencies,
    })
    const dependsOn = needs
      .map(name => resolveFrom(folder, name, locked))
      .filter(needed => needed !== undefined && folders.includes(needed))
      .map(needed => `npm:${needed}`)
    return {
      'bom-ref': `npm:${folder}`,
      type: 'library',
      ...nameOf(folder),
      version,
      purl: packageUrl(folder, version),
      ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
      ...(integrity === undefined ? {} : { hashes: hashesOf(integrity) }),
      dependsOn,
    }
  })
}

/** Where a package finds another, as Node looks for it. */
function resolveFrom(folder: string, name: string, locked: LockedPackages): string | undefined {
  const parts = folder.split('/node_modules/')
  for (let depth = parts.length; depth >= 0; depth -= 1) {
    const above = parts.slice(0, depth).join('/node_modules/')
    const candidate = above === '' ? `node_modules/${name}` : `${above}/node_modules/${name}`
    if (locked[candidate] !== undefined) return candidate
  }
  return undefined
}

function nameOf(folder: string): { group?: string; name: string } {
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const [scope = '', rest] = name.split('/')
  return rest === undefined ? { name: scope } : { group: scope, name: rest }
}

/** The specification of package URLs, type npm: the scope is the namespace, its `@` is escaped. */
function packageUrl(folder: string, version: string): string {
  const { group, name } = nameOf(folder)
  const namespace = group === undefined ? '' : `${encodeURIComponent(group)}/`
  return `pkg:npm/${namespace}${encodeURIComponent(name)}@${encodeURIComponent(version)}`
}

function hashesOf(integrity: string): { alg: string; content: string }[] {
  return integrity.split(' ').flatMap(each => {
    const [algorithm = '', digest = ''] = each.split(/-(.*)/s)
    const alg = { sha1: 'SHA-1', sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' }[algorithm]
    return alg === undefined ? [] : [{ alg, content: Buffer.from(digest, 'base64').toString('hex') }]
  })
}
