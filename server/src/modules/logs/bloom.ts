/**
 * A Bloom filter, with one hash, of the short substrings ("grams") in a block of lines. A block can contain a term only if it contains
 * every gram of the term. Grams of up to three characters are for short terms. Grams of five characters are needed for numbers and hashes,
 * because a block contains nearly every group of three digits.
 */
const gramSizes = [1, 2, 3, 5] as const

/** The size of a filter before it is halved, and its minimum size. */
const maxBits = 2 ** 19
const minBits = 2 ** 12
/** A filter is halved as long as at most this share of the remaining bits is set, which keeps false positives rare. */
const maxFillRatio = 0.2

/** The approximate maximum number of grams per query. More grams would exclude hardly any more blocks. */
const maxQueryGrams = 8

/** Folds the case of text. Every comparison applies it to both the line and the term. */
export const foldCase = (text: string): string => text.toLowerCase()

/** Calls `onGram` with a well mixed 32-bit hash for each gram of the folded text. */
function forEachGram(text: string, size: number, onGram: (hash: number) => void): void {
  for (let start = 0; start + size <= text.length; start++) {
    let hash = size
    for (let i = start; i < start + size; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    hash = Math.imul(hash ^ (hash >>> 13), 0x297a2d39)
    onGram((hash ^ (hash >>> 16)) >>> 0)
  }
}

/** Returns the filter of the lines of one block. Its size in bits is a power of two. */
export function bloomOf(texts: string[]): Buffer {
  const bits = Buffer.alloc(maxBits / 8)
  const mask = maxBits - 1
  for (const text of texts) {
    const folded = foldCase(text)
    for (const size of gramSizes)
      forEachGram(folded, size, (hash) => {
        const bit = hash & mask
        bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7))
      })
  }
  return halveFilter(bits)
}

/**
 * Halves a filter as often as `maxFillRatio` allows. The halves are combined with OR, because a bit's position is its hash modulo
 * the size.
 */
function halveFilter(bits: Buffer): Buffer {
  let current = bits
  while (current.length * 8 > minBits) {
    const half = Buffer.from(current.subarray(0, current.length / 2))
    for (let i = 0; i < half.length; i++) half[i] = (half[i] ?? 0) | (current[half.length + i] ?? 0)
    if (countSetBits(half) > half.length * 8 * maxFillRatio) break
    current = half
  }
  return current
}

function countSetBits(bits: Buffer): number {
  let count = 0
  for (let byte of bits) for (; byte !== 0; byte &= byte - 1) count++
  return count
}

/** Returns hashes of grams of a term. They have the largest size that fits in the term. Empty for an empty term. */
export function hashesOfTerm(term: string): number[] {
  const folded = foldCase(term)
  const size = gramSizes.findLast((size) => size <= folded.length)
  if (size === undefined) return []
  const hashes: number[] = []
  forEachGram(folded, size, (hash) => hashes.push(hash))
  const step = Math.max(1, Math.ceil(hashes.length / maxQueryGrams))
  const spread = hashes.filter((_, i) => i % step === 0 || i === hashes.length - 1)
  return [...new Set(spread)]
}

/** Returns whether the filter's block may contain the gram. The same condition in SQL is in `block-store.ts`. */
export function mightContain(bloom: Buffer, hash: number): boolean {
  const bit = hash & (bloom.length * 8 - 1)
  return ((bloom[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
}
