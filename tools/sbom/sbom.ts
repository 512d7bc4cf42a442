import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { tool } from '../binaries/tool.ts'
import type { Bundle } from '../bundle/bundle.ts'
import { sharedLibraries } from '../image/shared-libraries.ts'
import type { Component } from './component.ts'
import { debianComponents } from './debian-components.ts'
import { fileDigest } from './file-digest.ts'
import { nodeComponents } from './node-components.ts'
import { type LockedPackages, npmComponents } from './npm-components.ts'

const root = path.join(import.meta.dirname, '..', '..')

/** A list of components in the form of CycloneDX 1.6. */
export interface Sbom {
  bomFormat: 'CycloneDX'
  specVersion: '1.6'
  serialNumber: string
  version: 1
  metadata: { timestamp: string; component: Omit<Component, 'dependsOn'> }
  components: Omit<Component, 'dependsOn'>[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/**
 * What is in the bundle and in the image made of it: npm packages of which there is code in it, Node with what is linked into it, restic, and
 * the shared libraries. The same content has the same serial number. Throws SbomError when a package is not locked, and a ToolError where
 * restic cannot be had.
 */
export async function sbomOf(bundle: Bundle, now: Date): Promise<Sbom> {
  const { packages } = JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: LockedPackages
  }
  const npm = npmComponents(bundle.sources, packages)
  const [node, ...insideNode] = nodeComponents(process.versions, await fileDigest(process.execPath))
  const restic = await tool('restic')
  const libraries = await debianComponents(await sharedLibraries(process.execPath))
  node?.dependsOn.push(...libraries.map(each => each['bom-ref']))
  const found = new Map(libraries.map(each => [each['bom-ref'], each]))
  const ofRestic = await debianComponents(await sharedLibraries(restic))
  for (const each of ofRestic) if (!found.has(each['bom-ref'])) found.set(each['bom-ref'], each)
  const programs = (await debianComponents([restic])).map(each => ({
    ...{ ...each, type: 'application' as const, dependsOn: ofRestic.map(library => library['bom-ref']) },
  }))
  const components = [
    ...[...npm, ...(node === undefined ? [] : [node]), ...insideNode],
    ...[...found.values(), ...programs],
  ]
  const program: Component = {
    'bom-ref': 'lateen',
    type: 'application',
    name: 'lateen',
    version: bundle.version,
    purl: `pkg:generic/lateen@${bundle.version}`,
    licenses: [{ expression: 'Apache-2.0' }],
    dependsOn: ['node', ...[...npm, ...programs].map(each => each['bom-ref'])],
  }
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: serialNumber([program, ...components]),
    version: 1,
    metadata: { timestamp: now.toISOString(), component: described(program) },
    components: components.map(described),
    dependencies: [program, ...components].map(each => ({ ref: each['bom-ref'], dependsOn: each.dependsOn })),
  }
}

function described({ dependsOn: _, ...component }: Component): Omit<Component, 'dependsOn'> {
  return component
}

/** A UUID of version 8, "custom" in RFC 9562, out of the digest of the components. */
function serialNumber(components: readonly Component[]): string {
  const digest = createHash('sha256').update(JSON.stringify(components)).digest('hex')
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ]
  return `urn:uuid:${parts.join('-')}`
}
