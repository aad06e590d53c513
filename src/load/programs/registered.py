import mmap, torch

def load(path, device="cuda"):
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
    host = torch.frombuffer(data, dtype=torch.uint8)  # torch warns that it is read-only
    cudart = torch.cuda.cudart()
    torch.cuda.check_error(cudart.cudaHostRegister(host.data_ptr(), host.nbytes, 8))  # 8: read-only
    try:
        return host.to(device)
    finally:
        cudart.cudaHostUnregister(host.data_ptr())
