import { allKinds, crdFor } from '@lateen/api'
import { stringify } from 'yaml'
import type { GeneratedFiles } from './generated-files.ts'

/** The CRDs, one file for each kind, in a folder for each version. */
export function generateCrds(): GeneratedFiles {
  return new Map(
    allKinds.map(kind => [
      `deploy/crds/${kind.version}/${kind.group}_${kind.plural}.yaml`,
      `---\n${stringify(crdFor(kind), { lineWidth: 110 })}`,
    ]),
  )
}
