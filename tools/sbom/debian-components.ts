import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Component } from './component.ts'
import { fileDigest } from './file-digest.ts'

interface DebianPackage {
  name: string
  version: string
  architecture: string
}

/**
 * One component for each Debian package that libraries come from, and one for each library that no package owns, known by its digest alone.
 */
export async function debianComponents(libraries: readonly string[]): Promise<Component[]> {
  const found = new Map<string, Component>()
  for (const library of libraries) {
    const package_ = await owningPackage(library)
    const component = package_ === undefined ? await bareLibrary(library) : packageComponent(package_)
    const known = found.get(component['bom-ref']) ?? component
    known.properties = [...(known.properties ?? []), { name: 'lateen:file', value: library }]
    found.set(known['bom-ref'], known)
  }
  return [...found.values()]
}

const format = ['Package', 'Version', 'Architecture'].map(field => `\${${field}}`).join(' ')

/** Undefined where there is no dpkg, or when it does not know the file. */
async function owningPackage(library: string): Promise<DebianPackage | undefined> {
  // Since /lib became a link to /usr/lib, dpkg knows some files by one name and some by the other.
  const real = await realpath(library)
  for (const file of new Set([library, real, real.replace(/^\/usr\//, '/'), `/usr${library}`])) {
    const owner = await say('dpkg-query', ['-S', file])
    const name = owner === undefined ? undefined : /^(\S+?): /.exec(owner)?.[1]
    if (name === undefined) continue
    const facts = await say('dpkg-query', ['-W', '-f', format, name])
    const [packageName = '', version = '', architecture = ''] = facts?.split(' ') ?? []
    if (version !== '') return { name: packageName, version, architecture }
  }
  return undefined
}

async function say(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return (await promisify(execFile)(program, [...args])).stdout
  } catch {
    return undefined
  }
}

function packageComponent({ name, version, architecture }: DebianPackage): Component {
  return {
    'bom-ref': `deb:${name}`,
    type: 'library',
    name,
    version,
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
    dependsOn: [],
  }
}

async function bareLibrary(library: string): Promise<Component> {
  const digest = await fileDigest(library)
  return {
    'bom-ref': `file:${library}`,
    type: 'library',
    name: library,
    version: `sha256:${digest}`,
    hashes: [{ alg: 'SHA-256', content: digest }],
    dependsOn: [],
  }
}
