import { type CallOptions, isForbidden, isNotFound, type KubeClient, type ResourceType } from '@lateen/kube'
import type { RestoreSink } from '../sink/sink.ts'
import { definitionType, type PlannedDefinition, schemaIn } from './planned-definition.ts'
import type { Schema, SchemaRules } from './schema.ts'

/** A schema and how it is meant. */
export interface ObjectSchema extends SchemaRules {
  schema: Schema
}

type NamedType = Pick<ResourceType, 'group' | 'version' | 'kind' | 'plural'>

interface Document {
  components?: { schemas?: Record<string, Schema> }
}

const prefix = '#/components/schemas/'

/**
 * What the API server says its types look like. Each is asked for once: of custom resources the definition, of others the
 * document of their group and version.
 */
export class ObjectSchemas {
  readonly #client: KubeClient
  readonly #sink: RestoreSink
  readonly #documents = new Map<string, Promise<Record<string, Schema>>>()
  readonly #found = new Map<string, Promise<ObjectSchema | undefined>>()

  constructor({ client, sink }: { client: KubeClient; sink: RestoreSink }) {
    this.#client = client
    this.#sink = sink
  }

  /** Undefined when the server does not tell. Throws KubeError, or the signal's reason. */
  find(type: NamedType, options: CallOptions): Promise<ObjectSchema | undefined> {
    const key = `${type.group}/${type.version}/${type.kind}`
    let found = this.#found.get(key)
    if (found === undefined) {
      found = this.#search(type, options)
      this.#found.set(key, found)
    }
    return found
  }

  async #search(type: NamedType, options: CallOptions): Promise<ObjectSchema | undefined> {
    // A group without a dot is one of the server's own.
    const definition = type.group.includes('.') ? await this.#definitionOf(type, options) : undefined
    if (definition !== undefined) return ofDefinition(definition, type.version)
    const schemas = await this.#schemasOf(type, options)
    const schema = Object.values(schemas).find(each => isOf(each, type))
    const resolve = (reference: string) => schemas[reference.slice(prefix.length)]
    return schema && { schema, strict: false, resolve }
  }

  async #definitionOf(
    { group, plural }: NamedType,
    options: CallOptions,
  ): Promise<PlannedDefinition | undefined> {
    const target = { type: definitionType, namespace: '', name: `${plural}.${group}` }
    return this.#sink.read(target, options).catch(unlessHidden)
  }

  #schemasOf({ group, version }: NamedType, options: CallOptions): Promise<Record<string, Schema>> {
    const path = group === '' ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${group}/${version}`
    let found = this.#documents.get(path)
    if (found === undefined) {
      found = this.#read(path, options)
      this.#documents.set(path, found)
    }
    return found
  }

  async #read(path: string, options: CallOptions): Promise<Record<string, Schema>> {
    const text = await this.#client.getRaw(path, options).catch(unlessHidden)
    const { components }: Document = text === undefined ? {} : JSON.parse(text)
    return components?.schemas ?? {}
  }
}

/** The schema that a definition has for one of its versions. */
export function ofDefinition(definition: PlannedDefinition, version: string): ObjectSchema | undefined {
  const schema = schemaIn(definition, version)
  return schema && { schema, strict: true, resolve: () => undefined }
}

/** What may not be read, or is not there, refuses nothing. */
function unlessHidden(error: unknown): undefined {
  if (!isNotFound(error) && !isForbidden(error)) throw error
}

function isOf(schema: Schema, { group, version, kind }: NamedType): boolean {
  const named = schema['x-kubernetes-group-version-kind'] ?? []
  return named.some(each => (each.group ?? '') === group && each.version === version && each.kind === kind)
}
