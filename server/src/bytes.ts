// These functions return sizes in bytes.
export const mebibytes = (n: number): number => n * 2 ** 20
export const gibibytes = (n: number): number => n * 2 ** 30
