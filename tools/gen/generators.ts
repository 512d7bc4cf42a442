import { cliReference } from '@lateen/cli'
import { generateCrds } from './crds.ts'
import type { Generator } from './generated-files.ts'
import { chartFolders, generateHelmChart } from './helm-chart.ts'
import { generatePatchStrategies } from './patch-strategies.ts'
import { generateProtobuf, protobufFolders } from './protobuf.ts'
import { generateRights } from './rights.ts'

/** Everything that `npm run gen` writes. To add one, write a file beside this and list it here. */
export const generators: readonly Generator[] = [
  { name: 'CRDs', owns: ['deploy/crds'], generate: generateCrds },
  { name: 'Helm chart', owns: chartFolders, generate: generateHelmChart },
  { name: 'rights', owns: ['deploy/rbac'], generate: generateRights },
  { name: 'CLI reference', owns: ['docs/cli'], generate: cliReference },
  { name: 'patch strategies', owns: [], generate: generatePatchStrategies },
  { name: 'protobuf', owns: protobufFolders, generate: generateProtobuf },
]
