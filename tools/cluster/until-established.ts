import type { Cluster } from './cluster.ts'
import { waitUntil } from './wait-until.ts'

/** The name of each definition, and ` True` behind it when it is established. */
const template =
  '{{range .items}}{{.metadata.name}}{{range .status.conditions}}{{if eq .type "Established"}} {{.status}}{{end}}{{end}}{{"\\n"}}{{end}}'

/**
 * Waits until definitions of custom resources are served, each named like `backups.velero.io`. `kubectl wait` gives up with an error when it
 * sees one in its first moment, while its conditions are still null.
 */
export async function untilEstablished(
  { kubectl }: Pick<Cluster, 'kubectl'>,
  ...names: readonly string[]
): Promise<void> {
  let missing: readonly string[] = names
  const areServed = async () => {
    const lines = new Set((await kubectl(['get', 'crd', `--output=go-template=${template}`])).split('\n'))
    missing = names.filter(name => !lines.has(`${name} True`))
    return missing.length === 0
  }
  const failure = () => new Error(`definitions that are not established: ${missing.join(', ')}`)
  await waitUntil(areServed, { timeoutMs: 120_000, failure })
}
