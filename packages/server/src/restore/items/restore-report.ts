import type { Logger } from '@lateen/kube'
import type { ResultList, Results } from '../../report/report.ts'
import { errorText, longestResults } from '../../report/results.ts'

/** Where a warning or an error belongs. */
export type ReportPlace =
  /** A namespace of the cluster, or with an empty name the cluster itself. */
  | { namespace: string }
  /** The restore as a whole. */
  | 'restore'

/** What is told of: `error` says it, in an error or in plain words; the rest is for the log. */
export interface Reported {
  place: ReportPlace
  error: Error | string
  message: string
  fields?: Record<string, unknown> | undefined
}

/**
 * The warnings and errors of a restore: each is a line in its log, and its text is in `-results.gz`, as Velero has them: nothing but what
 * the error says.
 */
export class RestoreReport {
  readonly #log: Logger
  readonly #warnings = new Collected()
  readonly #errors = new Collected()

  constructor(log: Logger) {
    this.#log = log
  }

  get warnings(): number {
    return this.#warnings.count
  }

  get errors(): number {
    return this.#errors.count
  }

  get results(): Results {
    return { errors: this.#errors.list(), warnings: this.#warnings.list() }
  }

  warn({ place, error, message, fields }: Reported): void {
    this.#warnings.add(place, errorText(error))
    this.#log.warn({ ...fields, ...fieldsOf(place), error }, message)
  }

  error({ place, error, message, fields }: Reported): void {
    this.#errors.add(place, errorText(error))
    this.#log.error({ ...fields, ...fieldsOf(place), error }, message)
  }
}

function fieldsOf(place: ReportPlace): object {
  return place === 'restore' ? {} : place
}

class Collected {
  readonly #restore: string[] = []
  readonly #cluster: string[] = []
  readonly #namespaces = new Map<string, string[]>()
  #count = 0

  get count(): number {
    return this.#count
  }

  add(place: ReportPlace, text: string): void {
    this.#count += 1
    if (this.#count <= longestResults) this.#of(place).push(text)
  }

  list(): ResultList {
    const left = this.#count - longestResults
    const velero = left > 0 ? [...this.#restore, `${left} more are in the log`] : this.#restore
    return {
      ...(velero.length > 0 && { velero }),
      ...(this.#cluster.length > 0 && { cluster: this.#cluster }),
      ...(this.#namespaces.size > 0 && { namespaces: Object.fromEntries(this.#namespaces) }),
    }
  }

  #of(place: ReportPlace): string[] {
    if (place === 'restore') return this.#restore
    if (place.namespace === '') return this.#cluster
    let list = this.#namespaces.get(place.namespace)
    if (list === undefined) {
      list = []
      this.#namespaces.set(place.namespace, list)
    }
    return list
  }
}
