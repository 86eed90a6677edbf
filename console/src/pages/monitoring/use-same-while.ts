import { useMemo } from 'react'

/** The former value as long as the new one says the same as JSON: what is made of it need not be made again. */
export function useSameWhile<T>(value: T): T {
  const text = JSON.stringify(value)
  return useMemo(() => JSON.parse(text) as T, [text])
}
