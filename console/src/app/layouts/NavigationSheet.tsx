import { Sheet } from '../../ui/Dialog.tsx'
import { Sidebar } from './Sidebar.tsx'

/** The sidebar on narrow screens. */
export default function NavigationSheet({ onClose }: { onClose: () => void }) {
  return (
    <Sheet label="Navigation" isOpen onClose={onClose}>
      <Sidebar />
    </Sheet>
  )
}
