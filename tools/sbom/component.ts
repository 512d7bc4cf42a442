/** A component as CycloneDX 1.6 describes it, and what it needs. */
export interface Component {
  'bom-ref': string
  type: 'application' | 'library' | 'platform'
  group?: string
  name: string
  version: string
  purl?: string
  cpe?: string
  licenses?: { expression: string }[]
  hashes?: { alg: string; content: string }[]
  properties?: { name: string; value: string }[]
  /** Taken out of the component when the document is made: there, dependencies stand on their own. */
  dependsOn: string[]
}
