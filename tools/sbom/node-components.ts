import type { Component } from './component.ts'

/** What Node reports about itself that is not a component. */
const notComponents = new Set(['node', 'modules', 'napi', 'unicode', 'cldr', 'tz'])

/** Node, and what is linked into it. `versions` is `process.versions`. */
export function nodeComponents(
  versions: Readonly<Record<string, string | undefined>>,
  sha256: string,
): Component[] {
  const { node = '' } = versions
  const inside = Object.entries(versions).flatMap(([name, version]): Component[] => {
    // Empty for what this Node was built without.
    if (!version || notComponents.has(name)) return []
    // V8 has the version of the engine and a mark that Node adds.
    const plain = version.replace(/-node\.\d+$/, '')
    return [
      {
        'bom-ref': `node:${name}`,
        type: 'library',
        name,
        version: plain,
        purl: `pkg:generic/${encodeURIComponent(name)}@${encodeURIComponent(plain)}`,
        dependsOn: [],
      },
    ]
  })
  const program: Component = {
    'bom-ref': 'node',
    type: 'platform',
    name: 'node',
    version: node,
    purl: `pkg:generic/node@${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    licenses: [{ expression: 'MIT' }],
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    dependsOn: inside.map(each => each['bom-ref']),
  }
  return [program, ...inside]
}
