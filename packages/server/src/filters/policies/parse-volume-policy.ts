import type { FieldReader } from './field-reader.ts'
import { moveParameter, moveParameterProblem } from './move-parameter.ts'
import { parseQuantity, type Quantity } from './quantity.ts'
import {
  type CapacityRange,
  type VolumeAction,
  type VolumeConditions,
  type VolumePolicy,
  volumeActionTypes,
} from './volume-policy.ts'

const conditionNames = [
  'capacity',
  'storageClass',
  'nfs',
  'csi',
  'volumeTypes',
  'pvcLabels',
  'pvcPhase',
  'pvcVolumeMode',
  'pvcAccessModes',
] as const satisfies readonly (keyof VolumeConditions)[]

/** Reads one entry of `volumePolicies`; what is wrong with it is added to the reader's problems. */
export function parseVolumePolicy(reader: FieldReader, value: unknown, path: string): VolumePolicy {
  const { conditions, action } = reader.fields(value, path, ['conditions', 'action'])
  return {
    conditions: readConditions(reader, conditions, `${path}.conditions`),
    action: readAction(reader, action, `${path}.action`),
  }
}

function readAction(reader: FieldReader, value: unknown, path: string): VolumeAction {
  const fields = reader.fields(value, path, ['type', 'parameters'])
  const given = reader.text(fields.type, `${path}.type`)
  const type = volumeActionTypes.find(known => known === given)
  if (type === undefined) {
    reader.problem(path, `invalid action type ${given} (one of ${volumeActionTypes.join(', ')})`)
  }
  const parameters = reader.mapping(fields.parameters, `${path}.parameters`)
  const action = { type: type ?? 'skip', ...(Object.keys(parameters).length > 0 && { parameters }) }
  const unusable = moveParameterProblem(action)
  if (unusable !== undefined) reader.problem(`${path}.parameters.${moveParameter}`, unusable)
  return action
}

function readConditions(reader: FieldReader, value: unknown, path: string): VolumeConditions {
  const fields = reader.fields(value, path, conditionNames)
  const given = (name: (typeof conditionNames)[number]) => fields[name]
  return {
    capacity: readCapacity(reader, given('capacity'), `${path}.capacity`),
    storageClass: reader.texts(given('storageClass'), `${path}.storageClass`),
    nfs: readNfs(reader, given('nfs'), `${path}.nfs`),
    csi: readCsi(reader, given('csi'), `${path}.csi`),
    volumeTypes: reader.texts(given('volumeTypes'), `${path}.volumeTypes`),
    pvcLabels: reader.textMap(given('pvcLabels'), `${path}.pvcLabels`),
    pvcPhase: reader.texts(given('pvcPhase'), `${path}.pvcPhase`),
    pvcVolumeMode: reader.properText(given('pvcVolumeMode'), `${path}.pvcVolumeMode`),
    pvcAccessModes: reader
      .items(given('pvcAccessModes'), `${path}.pvcAccessModes`)
      .map(mode => reader.properText(mode.item, mode.path)),
  }
}

function readNfs(reader: FieldReader, value: unknown, path: string): VolumeConditions['nfs'] {
  if (value === undefined || value === null) return undefined
  const { server, path: share } = reader.fields(value, path, ['server', 'path'])
  return { server: reader.text(server, `${path}.server`), path: reader.text(share, `${path}.path`) }
}

function readCsi(reader: FieldReader, value: unknown, path: string): VolumeConditions['csi'] {
  if (value === undefined || value === null) return undefined
  const fields = reader.fields(value, path, ['driver', 'volumeAttributes'])
  const driver = reader.text(fields.driver, `${path}.driver`)
  const volumeAttributes = reader.textMap(fields.volumeAttributes, `${path}.volumeAttributes`)
  if (driver === '' && (fields.volumeAttributes ?? undefined) !== undefined) {
    reader.problem(path, 'csi driver should not be empty when filtering by volume attributes')
  }
  return { driver, volumeAttributes }
}

/** `10Gi,100Gi`, `10Gi,` or `,100Gi`. */
function readCapacity(reader: FieldReader, value: unknown, path: string): CapacityRange | undefined {
  const text = reader.text(value, path)
  if (text === '') return undefined
  const bounds = text.split(',').map(bound => bound.trim())
  const [lower, upper] = bounds
  if (lower === undefined || upper === undefined || bounds.length > 2) {
    reader.problem(path, `wrong format of Capacity ${text} (write two quantities such as "10Gi,100Gi")`)
    return undefined
  }
  const range = { lower: readBound(reader, lower, path), upper: readBound(reader, upper, path) }
  if (range.lower !== undefined && range.upper !== undefined && range.lower > range.upper) {
    reader.problem(path, `illegal values for capacity ${text} (the first must not be larger than the second)`)
  }
  return range
}

/** Zero is an open end, like nothing at all. */
function readBound(reader: FieldReader, text: string, path: string): Quantity | undefined {
  if (text === '') return undefined
  const quantity = parseQuantity(text)
  if (quantity === undefined) reader.problem(path, `wrong format of Capacity ${text} (not a quantity)`)
  return quantity === 0n ? undefined : quantity
}
