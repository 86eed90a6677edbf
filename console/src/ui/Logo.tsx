/** Shoal's logo in one colour: a few fish that swim in one direction. Legible from 16 px on. */
export function Logo({ size = 22, className }: { size?: number; className?: string }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="currentColor" aria-hidden className={className}>
      <path d="M10.500 8c4.700-.7 8.800.6 12 4c-3.200 3.400-7.300 4.700-12 4c1.300-2.700 1.300-5.300 0-8z" />
      <path d="M3.500 1.800c3.700-.5 7 .5 9.500 3.200c-2.500 2.700-5.800 3.700-9.500 3.200c1-2.200 1-4.200 0-6.400z" />
      <path d="M3.500 15.800c3.700-.5 7 .5 9.500 3.200c-2.500 2.700-5.800 3.700-9.500 3.200c1-2.200 1-4.200 0-6.400z" />
      <path d="M1 9.800c2.600-.3 4.700.4 6.500 2.200c-1.800 1.800-3.900 2.500-6.500 2.200c.7-1.500.7-2.900 0-4.400z" />
    </svg>
  )
}
