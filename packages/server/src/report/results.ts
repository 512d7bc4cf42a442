import { textOf } from '@lateen/kube'
import type { ResultList } from './report.ts'

/** What a line of the log says about itself. */
export interface ReportedLine {
  fields: Readonly<Record<string, unknown>>
  message: string
}

/** Beyond this many lines a list says only how many more there were: a report is read by people. */
export const longestResults = 10_000

/**
 * Collects lines of one level by where they belong, in the words that `velero backup describe` prints. A line with a
 * `namespace` field belongs to that namespace, or to the cluster where the field is empty; others to the server itself.
 */
export class ResultCollector {
  readonly #list: ResultList = {}
  #count = 0

  /** Lines added, also those beyond what is kept. */
  get count(): number {
    return this.#count
  }

  add(line: ReportedLine): void {
    this.#count += 1
    if (this.#count > longestResults) return
    const text = resultText(line)
    const { namespace } = line.fields
    this.#placeOf(namespace).push(text)
  }

  #placeOf(namespace: unknown): string[] {
    const list = this.#list
    if (typeof namespace !== 'string') {
      list.velero ??= []
      return list.velero
    }
    if (namespace === '') {
      list.cluster ??= []
      return list.cluster
    }
    list.namespaces ??= {}
    list.namespaces[namespace] ??= []
    return list.namespaces[namespace]
  }

  /** The list so far, as it is stored. */
  result(): ResultList {
    const left = this.#count - longestResults
    if (left <= 0) return this.#list
    return { ...this.#list, velero: [...(this.#list.velero ?? []), ` message: /${left} more are in the log`] }
  }
}

/** ` resource: /pods name: /web message: /… error: /…`, without the parts that the line does not have. */
export function resultText({ fields, message }: ReportedLine): string {
  const resource = typeof fields.resource === 'string' ? ` resource: /${fields.resource}` : ''
  const name = typeof fields.name === 'string' ? ` name: /${fields.name}` : ''
  const error = fields.error === undefined ? '' : ` error: /${errorText(fields.error)}`
  return `${resource}${name} message: /${message}${error}`
}

/** What an error says, without its stack. */
export function errorText(error: unknown): string {
  return textOf(error)
}
