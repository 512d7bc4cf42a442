/** Of a binary that this machine does not run. */
export const foreignProgram = 'it is not a program of this system and processor'

/** The numbers of processors in ELF files, by Node's names for them. */
const machines: Readonly<Record<string, number>> = {
  ia32: 3,
  ppc64: 21,
  s390x: 22,
  arm: 40,
  x64: 62,
  arm64: 183,
  riscv64: 243,
  loong64: 258,
}

const ELF = Buffer.from('\u007fELF', 'latin1')
const MACHINE_OFFSET = 18
const BIG_ENDIAN = 2

/** Why the system would not run a file itself, by its first bytes; undefined if it would, or if that is not known. */
export function programProblem(beginning: Buffer | undefined, processor: string): string | undefined {
  if (beginning === undefined || beginning.subarray(0, 2).toString() === '#!') return undefined
  if (!beginning.includes(0))
    return 'it is neither a binary nor a script whose first line names its interpreter'
  const expected = machines[processor]
  if (expected === undefined || !beginning.subarray(0, ELF.length).equals(ELF)) return undefined
  return machineOf(beginning) === expected ? undefined : foreignProgram
}

function machineOf(beginning: Buffer): number {
  if (beginning.length < MACHINE_OFFSET + 2) return 0
  return beginning[5] === BIG_ENDIAN
    ? beginning.readUInt16BE(MACHINE_OFFSET)
    : beginning.readUInt16LE(MACHINE_OFFSET)
}
