import torch

# constants


def obtain():
    torch.cuda.set_device(DEVICE)
    # torch may round up to the next power of two.
    return torch.empty(POOL_BYTES, dtype=torch.uint8, pin_memory=True)


if __name__ == "__main__":
    pool = obtain()
    assert pool.is_pinned()
    print(pool.numel(), "bytes are pinned")
    del pool  # torch keeps what it freed for later tensors
