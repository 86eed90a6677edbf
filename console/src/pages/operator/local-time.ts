/** Formats a time as the value of an input of type `datetime-local`, in the user's time zone: `2026-09-02T14:30` */
export function toLocalInput(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 16)
}

/** Parses the value of an input of type `datetime-local` to an ISO time; null if it is incomplete. */
export function fromLocalInput(value: string): string | null {
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
