import { median } from './result.ts'

/** Takes both measurements in each round, in alternating order, so that a busy machine slows both. Returns the medians of the ratios (first / second) and of the differences (first − second). */
export async function compare(rounds: number, first: () => Promise<number>, second: () => Promise<number>) {
  const ratios: number[] = []
  const differences: number[] = []
  for (let round = 0; round < rounds; round++) {
    const isSwapped = round % 2 === 1
    const early = await (isSwapped ? second : first)()
    const late = await (isSwapped ? first : second)()
    const [firstValue, secondValue] = isSwapped ? [late, early] : [early, late]
    ratios.push(firstValue / secondValue)
    differences.push(firstValue - secondValue)
  }
  return { ratio: median(ratios), difference: median(differences) }
}
