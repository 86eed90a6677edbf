import { Moon } from 'lucide-react'
import { ConfirmHost } from '../src/components/ConfirmHost.tsx'
import { toggleTheme } from '../src/lib/theme.ts'
import { Button } from '../src/ui/Button.tsx'
import { Logo } from '../src/ui/Logo.tsx'
import { TooltipHost } from '../src/ui/TooltipHost.tsx'
import ToastRegion from '../src/ui/ToastRegion.tsx'
import { Actions } from './Actions.tsx'
import { Charts } from './Charts.tsx'
import { Deployments } from './Deployments.tsx'
import { Fields } from './Fields.tsx'
import { Lists } from './Lists.tsx'
import { Overlays } from './Overlays.tsx'
import { PageParts } from './PageParts.tsx'
import { Surfaces } from './Surfaces.tsx'
import { Tables } from './Tables.tsx'

/** Shows every UI component in every state, for development. */
export function Gallery() {
  return (
    <main className="mx-auto max-w-300 px-4 py-8 sm:px-7">
      <header className="flex items-center gap-3 pb-6">
        <Logo size={28} className="text-accent" />
        <h1 className="flex-1 text-xl font-semibold tracking-tight">Components</h1>
        <Button icon={<Moon size={14} aria-hidden />} onClick={toggleTheme}>
          Switch theme
        </Button>
      </header>
      <Actions />
      <Fields />
      <Surfaces />
      <PageParts />
      <Tables />
      <Lists />
      <Deployments />
      <Charts />
      <Overlays />
      <TooltipHost />
      <ConfirmHost />
      <ToastRegion />
    </main>
  )
}
