import type { ShownItem, ShownPlan } from '@lateen/server'
import { resultLines } from '../describe/describe-results.ts'
import { alignTabs } from '../output/align-tabs.ts'
import { cells, type Paint } from '../output/paint.ts'
import { paintedDiff } from '../output/painted-diff.ts'
import { type ItemsDocument, itemsAsJson, itemsAsYaml } from '../output/print-items.ts'
import { type Column, renderTable } from '../output/table.ts'

export type PlanFormat = 'table' | 'json' | 'yaml' | 'diff'

const columns: readonly Column[] = [
  { header: 'KIND', cell: ({ kind }: ShownItem) => kind },
  { header: 'NAMESPACE', cell: ({ namespace }: ShownItem) => namespace },
  { header: 'NAME', cell: ({ name }: ShownItem) => name },
  { header: 'ACTION', cell: actionOf },
  { header: 'REASON', cell: ({ reason }: ShownItem) => reason },
]

/** `create (not dry-run: namespace absent)` */
function actionOf({ action, note }: ShownItem): string {
  return note === undefined ? action : `${action} (${note})`
}

/** A plan as text, piece by piece. Throws what reading the plan throws. */
export async function* printPlan(plan: ShownPlan, format: PlanFormat, paint: Paint): AsyncGenerator<string> {
  switch (format) {
    case 'table':
      // Rows are small: the objects themselves are not among them.
      yield renderTable(columns, await Array.fromAsync(plan.items()))
      yield* summary(plan)
      break
    case 'diff':
      for await (const item of plan.items()) yield* itemDiff(item, paint)
      break
    case 'json':
      yield* itemsAsJson(documentOf(plan))
      break
    case 'yaml':
      yield* itemsAsYaml(documentOf(plan))
      break
  }
}

function* summary({ backup, counts, warnings, errors, results, remarks }: ShownPlan): Iterable<string> {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const parts = Object.entries(counts).map(([action, count]) => `${count} ${action}`)
  yield `${total === 0 ? '' : '\n'}Plan of a restore from backup ${backup}: ${total} objects: ${parts.join(', ')}. Nothing was written.\n`
  for (const remark of remarks) yield cells`Note: ${remark}\n`
  if (warnings > 0) yield `\n${alignTabs(resultLines('Warnings', results.warnings))}`
  if (errors > 0) yield `\n${alignTabs(resultLines('Errors', results.errors))}`
}

/** Objects of which nothing would change are left out. */
function* itemDiff(item: ShownItem, paint: Paint): Iterable<string> {
  const { kind, namespace, name, reason, diff, action } = item
  if (action === 'skip') return
  const place = namespace === '' ? name : `${namespace}/${name}`
  yield cells`${paint.bold(`# ${actionOf(item)} ${kind} ${place}: ${reason.replace(/\s+/g, ' ')}`)}\n`
  yield* paintedDiff(diff ?? [], paint)
}

function documentOf(plan: ShownPlan): ItemsDocument {
  const { backup, counts, warnings, errors, results, remarks } = plan
  return {
    head: { backup },
    items: plan.items(),
    tail: () => ({ counts, warnings, errors, results, remarks }),
  }
}
