import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import {
  clusterRules,
  type NamedRule,
  namespaceRules,
  serverRights,
} from '../../packages/cli/src/install/cluster-role.ts'
import { customResourceDefinitions } from '../../packages/cli/src/install/custom-resource-definitions.ts'
import {
  nodeAgentClusterRules,
  nodeAgentNamespaceRules,
} from '../../packages/cli/src/install/node-agent-role.ts'
import type { GeneratedFiles } from './generated-files.ts'

const chart = 'deploy/helm/lateen'
const root = join(import.meta.dirname, '..', '..')

/** Folders of the chart in which nobody writes by hand. */
export const chartFolders = [`${chart}/crds`, `${chart}/files`]

/** Stands where the API groups that a user names are to go. */
const namedGroups = '(named groups)'

/** What the Helm chart has in common with other ways to install: definitions, rules of roles, alerts. */
export async function generateHelmChart(): Promise<GeneratedFiles> {
  const rules = (apiGroups: string[]) => chartRules(clusterRules({ grants: serverRights, apiGroups }))
  const rights = {
    all: rules(['*']),
    named: rules([namedGroups]),
    namespace: chartRules(namespaceRules),
    nodeAgent: {
      cluster: chartRules(nodeAgentClusterRules),
      namespace: chartRules(nodeAgentNamespaceRules),
    },
  }
  return new Map([
    ...customResourceDefinitions().map(crd => {
      const { group, names } = crd.spec
      return [`${chart}/crds/${group}_${names.plural}.yaml`, `---\n${print(crd)}`] as const
    }),
    [`${chart}/files/rights.yaml`, print(rights)],
    [`${chart}/files/alerts.yaml`, await readFile(join(root, 'deploy/prometheus/rules.yaml'), 'utf8')],
  ])
}

/** As the Role and ClusterRole of the chart take them, with the right that each is for. */
function chartRules(rules: readonly NamedRule[]): object[] {
  return rules.map(({ purpose, right, rule }) => ({ purpose, ...(right && { right }), rule }))
}

function print(object: object): string {
  return stringify(object, { lineWidth: 110, aliasDuplicateObjects: false })
}
