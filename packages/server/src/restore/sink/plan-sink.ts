import { type Discovery, isAlreadyExists, KubeError } from '@lateen/kube'
import type { ActionItem } from '@lateen/plugin'
import { groupResource } from '../../item/item.ts'
import { namespaceType } from '../items/core-types.ts'
import { isJsonObject } from '../items/same-json.ts'
import { copyJson } from '../modifiers/copy-json.ts'
import { mergeInto } from '../modifiers/merge-into.ts'
import { schemaProblems } from '../plan/check-schema.ts'
import { excuseRefusal, lacksRight } from '../plan/excuse-refusal.ts'
import { type ObjectSchemas, ofDefinition } from '../plan/object-schemas.ts'
import { PlannedObjects } from '../plan/planned-objects.ts'
import type { RestoreSink, SinkAnswer, SinkOptions, SinkTarget } from './sink.ts'

export interface PlanSinkOptions {
  /** Every write of it is a dry run. */
  dryRun: RestoreSink
  discovery: Discovery
  schemas: Pick<ObjectSchemas, 'find'>
  /** Waited for before each request, so that whoever keeps what is planned keeps up. */
  ready?: (() => Promise<void> | undefined) | undefined
}

interface Namespace extends ActionItem {
  status?: { phase?: string }
}

/**
 * A sink that writes nothing. The API server is asked what it would do, with admission, webhooks and quotas; where it cannot be
 * asked, because the namespace or the kind of an object is itself only planned, the object is checked against its schema and
 * the answer has a note.
 */
export function createPlanSink(options: PlanSinkOptions): RestoreSink {
  const { dryRun } = options
  const planning = new Planning(options)
  return {
    writes: false,
    create: (target, object, sinkOptions) => planning.create(target, object, sinkOptions),
    patch: (target, patch, sinkOptions) => planning.patch(target, patch, sinkOptions),
    read: (target, callOptions) => dryRun.read(target, callOptions),
    updateStatus: (target, object, sinkOptions) => dryRun.updateStatus(target, object, sinkOptions),
    remove: async () => {},
    probe: (target, object, sinkOptions) => planning.probe(target, object, sinkOptions),
    list: (target, callOptions) => dryRun.list(target, callOptions),
  }
}

class Planning {
  readonly #options: PlanSinkOptions
  readonly #planned = new PlannedObjects()
  #served: Promise<ReadonlySet<string>> | undefined

  constructor(options: PlanSinkOptions) {
    this.#options = options
  }

  async create(target: SinkTarget, object: ActionItem, options: SinkOptions): Promise<SinkAnswer> {
    await this.#options.ready?.()
    const absence = await this.#absenceOf(target, options)
    const answer: SinkAnswer & { leaving?: boolean } =
      absence === undefined
        ? await this.#tryCreate(target, object, options)
        : await this.#checked(target, object, { ...options, note: absence })
    this.#planned.add(target, answer.object)
    if (answer.leaving) this.#planned.addNamespace(target.name, 'being deleted')
    return { object: answer.object, note: answer.note }
  }

  async patch(
    target: SinkTarget,
    patch: Parameters<RestoreSink['patch']>[1],
    options: SinkOptions,
  ): Promise<SinkAnswer> {
    const { dryRun } = this.#options
    try {
      const answer = await dryRun.patch(target, patch, options)
      if (groupResource(target.type) === definitions) this.#planned.add(target, answer.object)
      return answer
    } catch (error) {
      const excuse = excuseRefusal(error, target.namespace, this.#planned)
      if (excuse === undefined) throw error
      const object = copyJson(await dryRun.read(target, options)) ?? bare(target)
      if (patch.type === 'merge' && isJsonObject(patch.body)) mergeInto(object, patch.body)
      return { object, note: `not dry-run: ${excuse}` }
    }
  }

  async #tryCreate(
    target: SinkTarget,
    object: ActionItem,
    options: SinkOptions,
  ): Promise<SinkAnswer & { leaving?: boolean }> {
    try {
      return await this.#options.dryRun.create(target, object, options)
    } catch (error) {
      if (isAlreadyExists(error) && (await this.#isLeavingNamespace(target, options))) {
        const note = 'not dry-run: it is being deleted, and a restore waits for that'
        return { object, note, leaving: true }
      }
      const excuse = excuseRefusal(error, target.namespace, this.#planned)
      if (excuse === undefined) throw error
      // The server asks for rights before it looks whether the object is there.
      if (lacksRight(error)) await this.#requireFree(target, options)
      return this.#checked(target, object, { ...options, note: excuse })
    }
  }

  async probe(target: SinkTarget, object: ActionItem, options: SinkOptions): Promise<void> {
    try {
      await this.#options.dryRun.probe(target, object, options)
    } catch (error) {
      if (!lacksRight(error)) throw error
    }
  }

  /** Throws what creating an object that is there would end with. */
  async #requireFree(target: SinkTarget, options: SinkOptions): Promise<void> {
    if (target.name === '') return
    const live = await this.#options.dryRun.read(target, options).catch(error => {
      if (!lacksRight(error)) throw error
    })
    if (live === undefined) return
    const { type, name } = target
    const message = `${groupResource(type)} ${JSON.stringify(name)} already exists`
    throw new KubeError('AlreadyExists', { status: 409, message })
  }

  async #isLeavingNamespace({ type, name }: SinkTarget, options: SinkOptions): Promise<boolean> {
    if (groupResource(type) !== 'namespaces') return false
    const { dryRun } = this.#options
    const live: Namespace | undefined = await dryRun.read(
      { type: namespaceType, namespace: '', name },
      options,
    )
    return live?.metadata.deletionTimestamp !== undefined || live?.status?.phase === 'Terminating'
  }

  /** A type that nobody plans to define is sent all the same: the server then says that it does not know it. */
  async #absenceOf(target: SinkTarget, options: SinkOptions): Promise<string | undefined> {
    const isServed = await this.#isServed(target, options)
    if (!isServed && this.#planned.definitionOf(target) === undefined) return undefined
    return this.#planned.absenceOf(target, isServed)
  }

  async #isServed({ type }: SinkTarget, { signal }: SinkOptions): Promise<boolean> {
    const { discovery } = this.#options
    this.#served ??= discovery.all({ signal }).then(all => new Set(all.map(nameOf)))
    return (await this.#served).has(nameOf(type))
  }

  async #checked(
    target: SinkTarget,
    object: ActionItem,
    { note, ...options }: SinkOptions & { note: string },
  ): Promise<SinkAnswer> {
    const planned = this.#planned.definitionOf(target)
    const schema = planned
      ? ofDefinition(planned, target.type.version)
      : await this.#options.schemas.find(target.type, options)
    const problems = schema ? schemaProblems(schema.schema, object, schema) : []
    if (problems.length > 0) throw refusal(target, problems, schema?.strict ?? true)
    return { object, note: `not dry-run: ${note}` }
  }
}

const definitions = 'customresourcedefinitions.apiextensions.k8s.io'

function nameOf({ group, version, plural }: { group: string; version: string; plural: string }): string {
  return `${plural}.${version}.${group}`
}

function bare({ type, namespace, name }: SinkTarget): ActionItem {
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  return { apiVersion, kind: type.kind, metadata: { name, ...(namespace !== '' && { namespace }) } }
}

/** As the API server would say it, and the client would add. */
function refusal({ type, name }: SinkTarget, problems: readonly string[], strict: boolean): KubeError {
  const { group, version, kind } = type
  const said = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`
  if (!strict) {
    const message = `${kind} in version "${version}" cannot be handled as a ${kind}: ${said}`
    return new KubeError('BadRequest', { status: 400, message })
  }
  const message = `${group === '' ? kind : `${kind}.${group}`} ${JSON.stringify(name)} is invalid: ${said}`
  const hint = 'correct the fields that are named and send the object again'
  return new KubeError('Invalid', { status: 422, message, hint })
}
