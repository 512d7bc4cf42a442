import { apiVersionOf, type KindDescription } from '@lateen/api'
import type { ObjectsResult, OutputFormat } from '../output/command-result.ts'
import { type Column, labelColumns } from '../output/table.ts'
import type { FlagValues } from '../tree/flag.ts'
import type { createOutputFlags } from '../tree/output-flags.ts'

/** What is to be shown, and how. */
export interface ShownObjects {
  readonly objects: readonly object[]
  /** Those of the kind; the flags may add more. */
  readonly columns: readonly Column[]
  readonly flags: FlagValues<typeof createOutputFlags>
}

/** The result of a command that shows objects of a kind, as its flags ask for them. */
export function objectsResult(
  kind: Pick<KindDescription, 'group' | 'version' | 'kind'>,
  { objects, columns, flags }: ShownObjects,
): ObjectsResult {
  return {
    show: 'objects',
    format: formatOf(flags.output),
    listKind: { apiVersion: apiVersionOf(kind), kind: `${kind.kind}List` },
    objects,
    columns: [...columns, ...labelColumns(flags['label-columns'], flags['show-labels'])],
  }
}

function formatOf(output: string | undefined): OutputFormat {
  return output === 'json' || output === 'yaml' || output === 'name' ? output : 'table'
}
